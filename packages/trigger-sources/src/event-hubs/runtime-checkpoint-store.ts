import type { StoredState, TriggerStore } from '../store/trigger-store.js';
import type { CheckpointStore, ConsumerGroupPlace, HubCheckpoint, PartitionClaim } from './checkpoint-store.js';

/** Checkpoints and claims in the store of the runtime. */
export class RuntimeCheckpointStore implements CheckpointStore {
  readonly name = "the runtime's store";
  readonly keepsLevels = true;
  readonly #store: TriggerStore;
  readonly #prefix: string;

  constructor(store: TriggerStore, application: string, { host, hub, consumerGroup }: ConsumerGroupPlace) {
    this.#store = store;
    this.#prefix = ['event-hubs', application, host, hub, consumerGroup].join('/').toLowerCase();
  }

  async claims(signal: AbortSignal): Promise<readonly PartitionClaim[]> {
    const states = await this.#store.list(`${this.#prefix}/ownership/`, signal);
    return states.map((state) => {
      const { ownerId, ownerLevel } = valueOf(state);
      return {
        partitionId: partitionOf(state),
        ownerId: typeof ownerId === 'string' ? ownerId : undefined,
        ownerLevel: typeof ownerLevel === 'number' ? ownerLevel : 0,
        version: state.version,
      };
    });
  }

  claim(
    { partitionId, ownerId, ownerLevel }: Omit<PartitionClaim, 'version'>,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.#write(`ownership/${partitionId}`, { ownerId, ownerLevel }, expected, signal);
  }

  async checkpoints(signal: AbortSignal): Promise<readonly HubCheckpoint[]> {
    const states = await this.#store.list(`${this.#prefix}/checkpoint/`, signal);
    return states.map((state) => {
      const { sequenceNumber, offset, hubCreatedAtMs } = valueOf(state);
      return {
        partitionId: partitionOf(state),
        sequenceNumber: typeof sequenceNumber === 'number' ? sequenceNumber : undefined,
        offset: typeof offset === 'string' ? offset : undefined,
        hubCreatedAtMs: typeof hubCreatedAtMs === 'number' ? hubCreatedAtMs : undefined,
        version: state.version,
      };
    });
  }

  checkpoint(
    partitionId: string,
    { sequenceNumber, offset, hubCreatedAtMs }: Parameters<CheckpointStore['checkpoint']>[1],
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.#write(`checkpoint/${partitionId}`, { sequenceNumber, offset, hubCreatedAtMs }, expected, signal);
  }

  #write(
    name: string,
    value: Readonly<Record<string, unknown>>,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.#store.write(`${this.#prefix}/${name}`, JSON.stringify(value), expected, signal);
  }
}

function partitionOf({ key }: StoredState): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function valueOf({ value }: StoredState): Readonly<Record<string, unknown>> {
  return JSON.parse(value) as Readonly<Record<string, unknown>>; // written by this class
}
