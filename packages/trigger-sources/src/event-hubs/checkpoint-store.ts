import type { FinishedUpTo } from './watermark.js';

/** The position of a consumer group in a partition. */
export interface HubCheckpoint {
  readonly partitionId: string;
  /** Undefined in checkpoints of old hosts, which have an offset only. */
  readonly sequenceNumber: number | undefined;
  readonly offset: string | undefined;
  /** Creation time of the hub; undefined if the store does not keep it. */
  readonly hubCreatedAtMs: number | undefined;
  readonly version: string;
}

/** The claim of a runtime on a partition. */
export interface PartitionClaim {
  readonly partitionId: string;
  /** Undefined if it is released. */
  readonly ownerId: string | undefined;
  /** Grows with each change of the owner; always 0 in a store that is shared with Azure. */
  readonly ownerLevel: number;
  readonly version: string;
}

/**
 * Checkpoints and claims of one consumer group, shared by all runtimes. Every write is a compare-and-set on the version:
 * undefined stands for "does not exist yet", and a write resolves with the new version, or with undefined if it was late.
 */
export interface CheckpointStore {
  /** For messages: "the runtime's store", "container azure-webjobs-eventhub". */
  readonly name: string;
  /** Whether claims keep an owner level. Without it all readers use level 0, as hosts in Azure do. */
  readonly keepsLevels: boolean;
  claims(signal: AbortSignal): Promise<readonly PartitionClaim[]>;
  claim(
    claim: Omit<PartitionClaim, 'version'>,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  checkpoints(signal: AbortSignal): Promise<readonly HubCheckpoint[]>;
  checkpoint(
    partitionId: string,
    position: FinishedUpTo & { readonly hubCreatedAtMs: number },
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

export interface ConsumerGroupPlace {
  readonly host: string;
  readonly hub: string;
  readonly consumerGroup: string;
}

/** The store did not answer, or not in time. The hub is not at fault. */
export class CheckpointStoreFailure extends Error {
  constructor(cause: unknown) {
    super('the checkpoint store is unavailable', { cause });
  }
}
