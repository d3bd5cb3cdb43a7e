/** Where a function continues in the changes of its collection. It is the state of the lease that its listener holds. */
export interface CollectionCheckpoint {
  readonly position: number;
}

export const encodeCheckpoint = ({ position }: CollectionCheckpoint): string => JSON.stringify({ position });

/** Returns undefined for a function that has never listened. */
export function parseCheckpoint(state: string | undefined): CollectionCheckpoint | undefined {
  if (state === undefined) return undefined;
  try {
    const parsed = JSON.parse(state) as { readonly position?: unknown } | null; // written by encodeCheckpoint
    return typeof parsed?.position === 'number' ? { position: parsed.position } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the key of the lease and the checkpoint in the store. Names of functions are unique in any case. */
export const checkpointKey = (application: string, functionName: string, collection: string): string =>
  `collections/${application}/${functionName.toLowerCase()}/${collection}`;
