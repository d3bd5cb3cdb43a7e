/** A blob or an entity of a table. */
export interface StorageItem {
  readonly name: string;
  /** Of a blob. */
  readonly bytes?: number;
  readonly modified: string;
  /** Of an entity: its properties as JSON. The content of a blob is read by itself. */
  readonly text?: string;
}

/** Blobs or tables as a developer sees them. Reading starts the service if it does not run yet. */
export interface StorageView {
  readonly kind: 'blob' | 'table';
  readonly state: 'waiting' | 'starting' | 'running';
  /** Names of containers or tables, at most a thousand. */
  names(): Promise<readonly string[]>;
  /** One page of a container or table; `next` continues it. */
  items(
    name: string,
    after: string | undefined,
  ): Promise<{ readonly items: readonly StorageItem[]; readonly next?: string }>;
  /** The beginning of a blob as text. */
  content(container: string, blob: string): Promise<string>;
}
