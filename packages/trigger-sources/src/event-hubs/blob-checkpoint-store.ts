import type { ContainerClient, RestError } from '@azure/storage-blob';
import type { CheckpointStore, ConsumerGroupPlace, HubCheckpoint, PartitionClaim } from './checkpoint-store.js';

/**
 * Checkpoints and claims as empty blobs with metadata, in the layout of the official checkpoint stores, so that an application
 * moves between Azure and this runtime without losing its position. Names are lower case.
 */
export class BlobCheckpointStore implements CheckpointStore {
  readonly name: string;
  readonly keepsLevels = false;
  /** Creates the client, and the container if it is missing. */
  readonly #open: () => Promise<ContainerClient>;
  readonly #prefix: string;
  #opened: Promise<ContainerClient> | undefined;

  constructor(
    container: string,
    open: () => Promise<ContainerClient>,
    { host, hub, consumerGroup }: ConsumerGroupPlace,
  ) {
    this.name = `container ${container}`;
    this.#open = open;
    this.#prefix = [host, hub, consumerGroup].join('/').toLowerCase();
  }

  async claims(signal: AbortSignal): Promise<readonly PartitionClaim[]> {
    const blobs = await this.#list('ownership', signal);
    return blobs.map(({ partitionId, metadata, version }) => ({
      partitionId,
      ownerId: metadata['ownerid'] || undefined,
      ownerLevel: 0,
      version,
    }));
  }

  claim(
    { partitionId, ownerId }: Omit<PartitionClaim, 'version'>,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.#write(`ownership/${partitionId}`, { ownerid: ownerId ?? '' }, expected, signal);
  }

  async checkpoints(signal: AbortSignal): Promise<readonly HubCheckpoint[]> {
    const blobs = await this.#list('checkpoint', signal);
    return blobs.map(({ partitionId, metadata, version }) => ({
      partitionId,
      sequenceNumber: toNumber(metadata['sequencenumber']),
      offset: metadata['offset'] || undefined,
      hubCreatedAtMs: undefined,
      version,
    }));
  }

  checkpoint(
    partitionId: string,
    { sequenceNumber, offset }: Parameters<CheckpointStore['checkpoint']>[1],
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const metadata = { sequencenumber: String(sequenceNumber), offset };
    return this.#write(`checkpoint/${partitionId}`, metadata, expected, signal);
  }

  async #list(kind: 'ownership' | 'checkpoint', abortSignal: AbortSignal) {
    const container = await this.#container();
    const prefix = `${this.#prefix}/${kind}/`;
    const found: {
      readonly partitionId: string;
      readonly metadata: Readonly<Record<string, string>>;
      readonly version: string;
    }[] = [];
    for await (const blob of container.listBlobsFlat({ prefix, includeMetadata: true, abortSignal }))
      found.push({
        partitionId: blob.name.slice(prefix.length),
        metadata: Object.fromEntries(
          Object.entries(blob.metadata ?? {}).map(([key, value]) => [key.toLowerCase(), value]),
        ),
        version: quoted(blob.properties.etag),
      });
    return found;
  }

  async #write(
    name: string,
    metadata: Record<string, string>,
    expected: string | undefined,
    abortSignal: AbortSignal,
  ): Promise<string | undefined> {
    const blob = (await this.#container()).getBlockBlobClient(`${this.#prefix}/${name}`);
    try {
      const { etag } =
        expected === undefined
          ? await blob.upload('', 0, { metadata, conditions: { ifNoneMatch: '*' }, abortSignal })
          : await blob.setMetadata(metadata, { conditions: { ifMatch: expected }, abortSignal });
      return quoted(etag ?? '');
    } catch (error) {
      const { statusCode } = Object(error) as Partial<RestError>; // only its status is read
      if (statusCode === 409 || statusCode === 412 || statusCode === 404) return undefined;
      throw error;
    }
  }

  async #container(): Promise<ContainerClient> {
    this.#opened ??= this.#open();
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }
}

/** Lists and responses differ in the quotes around an ETag. */
function quoted(etag: string): string {
  return /^(W\/)?"/.test(etag) ? etag : `"${etag}"`;
}

function toNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}
