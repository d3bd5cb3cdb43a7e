import type { Checkpoint, CheckpointStore, PartitionOwnership } from '@azure/event-hubs';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';

/** Checkpoints of the bare loop: one blob with metadata for each partition, as the checkpoint store of the SDK writes them. */
export class BlobCheckpoints implements CheckpointStore {
  readonly #container: ContainerClient;
  readonly #ownerships = new Map<string, PartitionOwnership>();
  readonly #known = new Set<string>();

  constructor(connectionString: string) {
    this.#container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient('bare-checkpoints');
  }

  async create(): Promise<void> {
    await this.#container.createIfNotExists();
  }

  async listOwnership(): Promise<PartitionOwnership[]> {
    return [...this.#ownerships.values()];
  }

  /** There is no other reader. */
  async claimOwnership(wanted: PartitionOwnership[]): Promise<PartitionOwnership[]> {
    const claimed = wanted.map((one) => ({ ...one, etag: '1', lastModifiedTimeInMs: Date.now() }));
    for (const one of claimed) this.#ownerships.set(one.partitionId, one);
    return claimed;
  }

  async listCheckpoints(): Promise<Checkpoint[]> {
    return [];
  }

  async updateCheckpoint({ eventHubName, partitionId, sequenceNumber, offset }: Checkpoint): Promise<void> {
    const name = `${eventHubName}/checkpoint/${partitionId}`;
    const blob = this.#container.getBlockBlobClient(name);
    const metadata = { sequencenumber: `${sequenceNumber}`, offset };
    if (this.#known.has(name)) await blob.setMetadata(metadata);
    else await blob.upload('', 0, { metadata });
    this.#known.add(name);
  }
}
