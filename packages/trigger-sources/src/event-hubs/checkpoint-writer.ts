import { BackOff, sleep, WakeUp, type Clock, type Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import type { CheckpointStore } from './checkpoint-store.js';
import type { FinishedUpTo } from './watermark.js';

interface CheckpointWriterOptions {
  readonly store: CheckpointStore;
  readonly partitionId: string;
  readonly hubCreatedAtMs: number;
  /** Version of the checkpoint from which the partition is read. */
  readonly version: string | undefined;
  /** Batches between two checkpoints. */
  readonly every: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly onWritten: (position: FinishedUpTo) => void;
  readonly onFailed: (error: unknown) => void;
}

const retries = { firstMs: 100, maxMs: 10_000, factor: 2 };
/**
 * Between two writes of a partition. A checkpoint for each event costs the store more than the event: `bench:triggers`, single
 * events, blobs in Azurite. After a crash, at most the events of this time run again in addition to those that were running.
 */
const restMs = 100;

/**
 * Writes the checkpoints of one partition, one at a time. Positions that are reached meanwhile are written together by the next
 * write, so a slow store slows no function. A position is only ever the watermark: everything up to it is finished.
 */
export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions;
  readonly #backOff: BackOff;
  readonly #stopped = new AbortController();
  #version: string | undefined;
  #reached: FinishedUpTo | undefined;
  #written: FinishedUpTo | undefined;
  #batches = 0;
  #writing: Promise<void> | undefined;
  readonly #rest = new WakeUp();
  #isFlushing = false;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
    this.#version = options.version;
    this.#backOff = new BackOff(retries, options);
  }

  /** Counts a finished batch. `reached` is the watermark after it. */
  batchFinished(reached: FinishedUpTo | undefined): void {
    this.#batches += 1;
    this.#reached = reached;
    if (this.#batches >= this.#options.every) void this.#write();
  }

  /** Writes the watermark, whatever the number of batches. Resolves when it is written, or when the writer is stopped. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    this.#rest.notify();
    while (this.#reached !== this.#written && !this.#stopped.signal.aborted) await this.#write();
    this.#isFlushing = false;
  }

  /** Aborts a write in flight, and writes nothing any more. */
  stop(): void {
    this.#stopped.abort(new Error('the partition is no longer read'));
  }

  #write(): Promise<void> {
    const isClean = this.#reached === undefined || this.#reached === this.#written;
    if (isClean) return Promise.resolve();
    this.#writing ??= this.#writeDue();
    return this.#writing;
  }

  async #writeDue(): Promise<void> {
    const { signal } = this.#stopped;
    for (let position = this.#reached; position !== undefined; position = this.#due()) {
      this.#batches = 0;
      try {
        await this.#attempt(position, signal);
        if (!this.#isFlushing) await this.#rest.wait(this.#options.clock, restMs, signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#options.onFailed(error);
        await sleep(this.#options.clock, this.#backOff.nextMs(), signal).catch(() => undefined);
        this.#batches = this.#options.every;
      }
    }
    // In the same turn as the last look: a batch that finishes later starts the next write.
    this.#writing = undefined;
  }

  #due(): FinishedUpTo | undefined {
    if (this.#stopped.signal.aborted || this.#batches < this.#options.every) return undefined;
    return this.#reached === this.#written ? undefined : this.#reached;
  }

  async #attempt(position: FinishedUpTo, signal: AbortSignal): Promise<void> {
    const { clock, onWritten } = this.#options;
    if (!(await withDeadline(clock, requestTimeoutMs, signal, (limited) => this.#set(position, limited)))) return;
    this.#written = position;
    this.#backOff.reset();
    onWritten(position);
  }

  /** Returns false if another runtime wrote meanwhile; the next attempt knows its version. */
  async #set(position: FinishedUpTo, signal: AbortSignal): Promise<boolean> {
    const { store, partitionId, hubCreatedAtMs } = this.#options;
    const version = await store.checkpoint(partitionId, { ...position, hubCreatedAtMs }, this.#version, signal);
    if (version !== undefined) {
      this.#version = version;
      return true;
    }
    const found = (await store.checkpoints(signal)).find((one) => one.partitionId === partitionId);
    this.#version = found?.version;
    // A runtime that was ahead has finished these events too: its checkpoint stays.
    const isBehind = (found?.sequenceNumber ?? -1) >= position.sequenceNumber;
    if (!isBehind) this.#batches = this.#options.every;
    return isBehind;
  }
}
