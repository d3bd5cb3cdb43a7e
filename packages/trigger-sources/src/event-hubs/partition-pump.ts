import { BackOff, sleep } from '@drover/service-kit';
import { defineStates } from '@drover/contracts';
import { requestTimeoutMs, untilAborted, withDeadline } from '../requests.js';
import { BatchRun, type BatchRunParts } from './batch-run.js';
import { CheckpointStoreFailure, type CheckpointStore } from './checkpoint-store.js';
import { CheckpointWriter } from './checkpoint-writer.js';
import type { HubClient, ReadPosition, HubEvent, HubReader } from './hub-client.js';
import type { EventHubOptions } from './event-hub-options.js';
import { EventLanes, type EventBatch } from './event-lanes.js';
import { hubFailureOf, type HubFailure } from './hub-failure.js';
import type { Outage } from './outage.js';
import { describePosition, startPosition } from './start-position.js';
import { Watermark } from './watermark.js';

/**
 * - reading: receives events ahead, runs batches, writes checkpoints
 * - draining: receives nothing; running batches finish
 * - ended: nothing runs; unfinished batches run where the partition is read next
 */
export const partitionPumpStates = defineStates('event hub partition', {
  reading: ['draining', 'ended'],
  draining: ['ended'],
  ended: [],
});

export interface PartitionPumpOptions extends BatchRunParts {
  readonly hub: HubClient;
  readonly options: EventHubOptions;
  readonly store: CheckpointStore;
  readonly ownerLevel: number;
  readonly hubOutage: Outage<HubFailure>;
  readonly storeOutage: Outage<'store'>;
  readonly isPaused: () => boolean;
  /** Whether the store still has the claim of this runtime. Asked before a reader is opened again. */
  readonly isOwner: () => Promise<boolean>;
  /** Another reader has the partition. */
  readonly onLost: (reason: string) => void;
}

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** A reader that lived this long ends the back-off. */
const stableMs = 5_000;
/** Partition properties may be older than a checkpoint, so a checkpoint behind them is looked at twice. */
const recheckMs = 1_000;
const flushWithinMs = 5_000;

/** Reads one partition that this runtime has claimed, and runs its batches. */
export class PartitionPump {
  readonly #options: PartitionPumpOptions;
  readonly #state = partitionPumpStates.start('reading');
  readonly #lanes: EventLanes;
  readonly #watermark = new Watermark();
  readonly #running = new Set<BatchRun>();
  readonly #idle = new Set<() => void>();
  /** Aborts when nothing more is read. */
  readonly #closing = new AbortController();
  readonly #window: number;
  #writer: CheckpointWriter | undefined;
  #start: ReadPosition | undefined;
  #lastReceived: number | undefined;
  #lastDelivered: number | undefined;
  #reader: HubReader | undefined;
  #credit = 0;
  #isScheduled = false;
  #cancelTimer: () => void = () => undefined;

  constructor(options: PartitionPumpOptions) {
    this.#options = options;
    const { orderBy, partitionConcurrency, maxEventBatchSize, minEventBatchSize, maxWaitMs, prefetchCount } =
      options.options;
    this.#window = Math.max(prefetchCount, maxEventBatchSize);
    this.#lanes = new EventLanes({
      orderBy,
      lanes: partitionConcurrency,
      maxBatchSize: maxEventBatchSize,
      minBatchSize: minEventBatchSize,
      maxWaitMs,
    });
    void this.#read();
  }

  /** Number of the last event that is finished, or in a run; undefined if the first is not known yet. */
  get progress(): { readonly finished: number | undefined; readonly delivered: number | undefined } {
    const from = this.#start?.kind === 'after' ? this.#start.sequenceNumber : undefined;
    const finished = this.#watermark.reached?.sequenceNumber ?? from;
    return { finished, delivered: this.#lastDelivered ?? finished };
  }

  /** Enqueue time of the oldest received event that waits. */
  get oldestAtMs(): number | undefined {
    return this.#lanes.oldestAtMs;
  }

  /** Call it when deliveries are no longer paused. */
  resume(): void {
    this.#schedule();
  }

  /** Receives nothing more. Resolves when running batches have finished and their checkpoint is written. */
  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('reading')) this.#state.move('draining');
    this.#close();
    for (const run of this.#running) run.drain();
    await untilAborted(
      this.#allFinished().then(() => this.#writer?.flush()),
      deadline,
    );
  }

  /** Ends at once: running batches lose their lease. What is finished is written, within a few seconds. */
  async end(reason: string): Promise<void> {
    if (this.#state.is('ended')) return;
    const { functionName, place, clock, observe, hubOutage } = this.#options;
    this.#state.move('ended');
    this.#close();
    let unfinished = 0;
    for (const run of this.#running) {
      unfinished += run.size;
      run.lose(new Error(`partition ${place.partitionId} is no longer read: ${reason}`));
    }
    hubOutage.forget(place.partitionId);
    observe({ kind: 'event-hub.released', functionName, ...aboutPlace(place), reason, unfinished });
    const cancel = clock.after(flushWithinMs, () => this.#writer?.stop());
    await this.#writer?.flush();
    this.#writer?.stop();
    cancel();
  }

  /** Opens readers, one after the other, until the pump is closed. */
  async #read(): Promise<void> {
    const { clock, hubOutage, place, isOwner } = this.#options;
    const { signal } = this.#closing;
    const backOff = new BackOff(failureBackOff, this.#options);
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const sinceMs = clock.monotonicMs();
      try {
        if (attempt > 0 && !(await isOwner())) return this.#lose('another runtime claimed it');
        this.#start ??= await this.#findStart(signal);
        const failure = await this.#readOnce(this.#start, signal);
        throw failure;
      } catch (error) {
        if (signal.aborted) return;
        if (clock.monotonicMs() - sinceMs >= stableMs) backOff.reset();
        const failure = hubFailureOf(error);
        if (failure === 'stolen') return this.#lose('another reader took it');
        if (!(error instanceof CheckpointStoreFailure)) hubOutage.failed(place.partitionId, failure, error);
        await sleep(clock, backOff.nextMs(), signal).catch(() => undefined);
      }
    }
  }

  /** Resolves with the reason when the reader has ended. */
  async #readOnce(start: ReadPosition, signal: AbortSignal): Promise<unknown> {
    const { hub, options, ownerLevel, place, hubOutage } = this.#options;
    const position: ReadPosition =
      this.#lastReceived === undefined ? start : { kind: 'after', sequenceNumber: this.#lastReceived };
    const { consumerGroup } = options;
    const { partitionId } = place;
    const request = {
      partitionId,
      consumerGroup,
      position,
      ownerLevel,
      onEvent: (event: HubEvent) => this.#accept(event),
    };
    const reader = await hub.read(request, signal);
    hubOutage.succeeded(partitionId);
    this.#reader = reader;
    this.#credit = 0;
    this.#replenish();
    const reason = await Promise.race([reader.ended, aborted(signal)]);
    this.#reader = undefined;
    reader.close();
    return reason;
  }

  async #findStart(signal: AbortSignal): Promise<ReadPosition> {
    const { hub, store, options, place, clock, randomness, functionName, observe, storeOutage } = this.#options;
    const { partitionId } = place;
    const checkpoints = await this.#stored((limited) => store.checkpoints(limited), signal);
    const checkpoint = checkpoints.find((one) => one.partitionId === partitionId);
    const { createdAtMs: hubCreatedAtMs } = await hub.describe(signal);
    const about = { checkpoint, hubCreatedAtMs, initial: options.initialOffset };
    let found = startPosition({ ...about, ends: await hub.ends(partitionId, signal) });
    if (found.isRecreated && checkpoint?.hubCreatedAtMs === undefined) {
      await sleep(clock, recheckMs, signal);
      found = startPosition({ ...about, ends: await hub.ends(partitionId, signal) });
    }
    let version = checkpoint?.version;
    const { firstCheckpoint, isRecreated, expired, position } = found;
    if (firstCheckpoint && (firstCheckpoint.sequenceNumber >= 0 || store.keepsLevels)) {
      const first = { ...firstCheckpoint, hubCreatedAtMs };
      version = await this.#stored((limited) => store.checkpoint(partitionId, first, version, limited), signal);
      if (version === undefined) throw new CheckpointStoreFailure('another runtime wrote a checkpoint meanwhile');
    }
    this.#writer = new CheckpointWriter({
      store,
      partitionId,
      hubCreatedAtMs,
      version,
      every: options.batchCheckpointFrequency,
      clock,
      randomness,
      onWritten: ({ sequenceNumber }) => {
        storeOutage.succeeded(`checkpoint ${partitionId}`);
        observe({ kind: 'event-hub.checkpointed', functionName, ...aboutPlace(place), sequenceNumber });
      },
      onFailed: (error) => storeOutage.failed(`checkpoint ${partitionId}`, 'store', error),
    });
    if (isRecreated) observe({ kind: 'event-hub.recreated', functionName, ...aboutPlace(place) });
    if (expired > 0) observe({ kind: 'event-hub.expired', functionName, ...aboutPlace(place), events: expired });
    observe({ kind: 'event-hub.claimed', functionName, ...aboutPlace(place), from: describePosition(position) });
    return position;
  }

  async #stored<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, storeOutage, place } = this.#options;
    const part = `start ${place.partitionId}`;
    try {
      const value = await withDeadline(clock, requestTimeoutMs, signal, call);
      storeOutage.succeeded(part);
      return value;
    } catch (error) {
      if (!signal.aborted) storeOutage.failed(part, 'store', error);
      throw new CheckpointStoreFailure(error);
    }
  }

  #accept(event: HubEvent): void {
    if (!this.#state.is('reading')) return;
    this.#credit -= 1;
    this.#lastReceived = event.sequenceNumber;
    this.#watermark.received(event);
    this.#lanes.add(event, this.#options.clock.monotonicMs());
    this.#schedule();
  }

  /** In the next turn of the loop, so that all events of one read from the socket are there. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#takeBatches();
    });
  }

  #takeBatches(): void {
    const { clock, isPaused } = this.#options;
    this.#cancelTimer();
    if (!this.#state.is('reading')) return;
    const nowMs = clock.monotonicMs();
    while (!isPaused()) {
      const batch = this.#lanes.take(nowMs);
      if (!batch) break;
      void this.#run(batch);
    }
    this.#replenish();
    const dueInMs = isPaused() ? undefined : this.#lanes.dueInMs(nowMs);
    if (dueInMs !== undefined) this.#cancelTimer = clock.after(Math.max(1, dueInMs), () => this.#schedule());
  }

  async #run(batch: EventBatch): Promise<void> {
    const run = new BatchRun(batch.events, this.#options);
    this.#running.add(run);
    this.#lastDelivered = Math.max(this.#lastDelivered ?? -1, batch.events.at(-1)?.sequenceNumber ?? -1);
    const isFinished = await run.run();
    this.#running.delete(run);
    this.#lanes.release(batch);
    if (isFinished) {
      this.#watermark.finish(batch.events);
      this.#writer?.batchFinished(this.#watermark.reached);
    }
    if (this.#running.size === 0) for (const settle of this.#idle) settle();
    this.#takeBatches();
  }

  /** Grants credit in larger steps: each grant is a frame on the wire. */
  #replenish(): void {
    const free = this.#window - this.#credit - this.#lanes.size;
    // A batch that waits for its minimum must be able to reach it.
    const step = this.#options.options.minEventBatchSize > 1 ? 1 : Math.ceil(this.#window / 4);
    if (!this.#reader || free < step) return;
    this.#credit += free;
    this.#reader.addCredit(free);
  }

  #lose(reason: string): void {
    this.#options.onLost(reason);
  }

  #close(): void {
    this.#closing.abort();
    this.#cancelTimer();
    this.#reader?.close();
  }

  async #allFinished(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.add(resolve));
  }
}

function aboutPlace({ hub, partitionId }: PartitionPumpOptions['place']) {
  return { hub, partitionId };
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}
