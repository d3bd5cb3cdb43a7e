import { createHash } from 'node:crypto';
import type { BlobType, BlobVersion } from './blob-container.js';

/** A found version of a blob, as the official host writes it into its queues. */
export interface BlobMessage {
  readonly container: string;
  readonly name: string;
  readonly etag: string;
}

/** Where versions go that failed too often: a queue in the account of the blobs. */
export const poisonQueue = 'webjobs-blobtrigger-poison';

/** The queue of found versions of one function. The official host has one for all functions, with the same beginning. */
export function foundQueue(application: string, functionName: string): string {
  const hash = createHash('sha256').update(`${application}\n${functionName.toLowerCase()}`).digest('hex');
  return `azure-webjobs-blobtrigger-${hash.slice(0, 32)}`;
}

/** The JSON that users find in the poison queue, in the shape of Azure. */
export function formatBlobMessage(
  functionName: string,
  container: string,
  { name, etag, type }: Pick<BlobVersion, 'name' | 'etag' | 'type'>,
): string {
  return JSON.stringify({
    Type: 'BlobTrigger',
    FunctionId: `Host.Functions.${functionName}`,
    BlobType: type satisfies BlobType,
    ContainerName: container,
    BlobName: name,
    ETag: etag,
  });
}

/** Returns undefined for anything else. */
export function parseBlobMessage(text: string): BlobMessage | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { ContainerName: container, BlobName: name, ETag: etag } = parsed as Readonly<Record<string, unknown>>; // absent ones read as undefined
  return typeof container === 'string' && typeof name === 'string' && typeof etag === 'string'
    ? { container, name, etag }
    : undefined;
}
