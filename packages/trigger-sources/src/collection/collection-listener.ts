import { defineStates } from '@drover/contracts';
import { BackOff, WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { untilAborted } from '../requests.js';
import type { HeldLease } from '../store/held-lease.js';
import { Lease } from '../store/lease.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import { runChanges, type ChangeOutcome, type ChangeRunParts } from './change-run.js';
import { encodeCheckpoint, parseCheckpoint } from './collection-checkpoint.js';
import type { CollectionRecords, RecordChange, TriggerOfCollection } from '../collection-records.js';
import type { CollectionTriggerOptions } from './collection-options.js';
import type { CollectionObservation } from './observations.js';
import { RecordLanes } from './record-lanes.js';

/**
 * - created: not started
 * - listening: waits for the lease, then delivers changes
 * - paused: has or waits for the lease; delivers nothing
 * - draining: starts nothing; running deliveries finish
 * - stopped: the checkpoint is written and the lease is released
 */
export const collectionListenerStates = defineStates('collection listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface CollectionListenerOptions {
  readonly application: string;
  readonly functionName: string;
  readonly options: CollectionTriggerOptions;
  readonly records: CollectionRecords;
  readonly store: TriggerStore;
  /** Of the lease and the checkpoint in the store. */
  readonly key: string;
  /** Another runtime takes over when this one was silent for this long. */
  readonly leaseMs: number;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionObservation | TriggerStoreObservation>;
}

/** Changes that are read ahead and wait. */
const mostWaiting = 256;
/** Changes that a measurement counts. */
const mostCounted = 1_000;
/** A checkpoint is written this long after the first change that it covers. After a crash, changes of this time may run again. */
const checkpointMs = 200;
const stopWithinMs = 5_000;
const failureBackOff = { firstMs: 200, maxMs: 10_000, factor: 2 };

/** What the listener has while it holds the lease. */
interface Session {
  readonly held: HeldLease;
  readonly lanes: RecordLanes;
  /** Aborts with the lease, and when the listener drains or stops. */
  readonly reading: AbortController;
  readonly wakeUp: WakeUp;
}

/**
 * Runs one function for the changes of one collection, in one runtime at a time: the holder of its lease. The checkpoint is the state of
 * the lease, so that a former holder cannot move it. It never passes a change that is not finished: every change is delivered at least
 * once, and changes of one record in their order.
 */
export class CollectionListener implements TriggerListener {
  readonly name: string;
  readonly broken: Promise<unknown>;
  readonly #options: CollectionListenerOptions;
  readonly #lease: Lease;
  readonly #state;
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  /** Deliveries that run, and replays that run or wait for their turn. */
  readonly #running = new Set<Promise<void>>();
  #break: (error: unknown) => void = () => undefined;
  #done: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #session: Session | undefined;
  #workers = 1;
  #awaySinceMs: number | undefined;

  constructor(listenerOptions: CollectionListenerOptions) {
    this.#options = listenerOptions;
    const { functionName, options, leaseMs, observe } = listenerOptions;
    this.name = `collection trigger ${functionName}`;
    this.broken = new Promise((resolve) => (this.#break = resolve));
    this.#lease = new Lease({ ...listenerOptions, ttlMs: leaseMs });
    this.#state = collectionListenerStates.start('created', ({ to }) =>
      observe({ kind: 'collection.listener', functionName, collection: options.collection, state: to }),
    );
  }

  /** Resolves without waiting for the lease: another runtime may have it for as long as it lives. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    this.#done = this.#run().catch((error: unknown) => this.#break(error));
  }

  pause(): void {
    if (this.#state.is('listening')) this.#state.move('paused');
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    if (this.#session) this.#deliverNext(this.#session);
  }

  scale(workers: number): void {
    this.#workers = Math.max(1, workers);
    if (this.#session) this.#deliverNext(this.#session);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) {
      this.#state.move('draining');
      this.#closing.abort(new Error('the listener drains'));
    }
    await untilAborted(this.#done, deadline);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { options, records, clock } = this.#options;
    const session = this.#session;
    const checkpoint = session ? undefined : parseCheckpoint(await this.#lease.peek(signal));
    const after = session?.lanes.readUpTo ?? checkpoint?.position ?? (await this.#firstPosition(signal));
    const counted = await records.count(options.collection, after, mostCounted, signal);
    const replays = await records.countReplays(this.#trigger, mostCounted, signal);
    const oldestAtMs = session?.lanes.oldestAtMs ?? counted.oldestAtMs;
    return {
      waiting: (session?.lanes.waiting ?? 0) + counted.changes + replays,
      ...(counted.changes >= mostCounted && { isAtLeast: true }),
      oldestAgeMs: oldestAtMs === undefined ? undefined : Math.max(0, clock.now() - oldestAtMs),
      targetPerWorker: options.isBatch ? options.maxBatchSize : options.maxConcurrentRecords,
      ...(options.isBatch && { maxUsefulWorkers: 1 }),
    };
  }

  get #trigger(): TriggerOfCollection {
    const { application, functionName, options } = this.#options;
    return { application, functionName, collection: options.collection };
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort(new Error('the listener was stopped'));
    this.#cut.abort(new Error('the listener was stopped'));
    const late = new AbortController();
    const cancel = this.#options.clock.after(stopWithinMs, () => late.abort());
    await untilAborted(this.#done, late.signal);
    cancel();
  }

  #firstPosition(signal: AbortSignal): Promise<number> {
    const { options, records } = this.#options;
    return options.startFrom === 'beginning' ? Promise.resolve(0) : records.position(signal);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const held = await this.#lease.acquire(signal).catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
      if (!held) return;
      try {
        await this.#runWhileHeld(held);
      } finally {
        this.#session = undefined;
        await held.release();
      }
    }
  }

  async #runWhileHeld(held: HeldLease): Promise<void> {
    const { functionName, options, observe } = this.#options;
    const reading = new AbortController();
    const end = (): void => reading.abort(new Error('the lease is lost, or the listener ends'));
    const ends = [held.lost, this.#closing.signal];
    for (const signal of ends) signal.addEventListener('abort', end, { once: true });
    if (ends.some(({ aborted }) => aborted)) end();
    try {
      const position = await this.#startPosition(held, reading.signal);
      if (position === undefined) return;
      observe({ kind: 'collection.started', functionName, collection: options.collection, position });
      const session: Session = { held, lanes: new RecordLanes(options, position), reading, wakeUp: new WakeUp() };
      this.#session = session;
      const checkpoints = this.#writeCheckpoints(session);
      await Promise.all([this.#readChanges(session), this.#replayFailed(session)]);
      await Promise.all(this.#running);
      session.wakeUp.notify();
      await checkpoints;
    } finally {
      for (const signal of ends) signal.removeEventListener('abort', end);
    }
  }

  /** The checkpoint, or the first position, which is stored at once: changes from now on are delivered whatever happens. */
  async #startPosition(held: HeldLease, signal: AbortSignal): Promise<number | undefined> {
    const known = parseCheckpoint(held.state);
    if (known) return known.position;
    const backOff = new BackOff(failureBackOff, this.#options);
    while (!signal.aborted) {
      try {
        const position = await this.#firstPosition(signal);
        return (await held.write(encodeCheckpoint({ position }))) ? position : undefined;
      } catch (error) {
        this.#failed(error);
        await backOff.wait(signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** Reads until the lease is lost or the listener ends. */
  async #readChanges(session: Session): Promise<void> {
    const { functionName, options, records, observe } = this.#options;
    const { lanes, reading } = session;
    const backOff = new BackOff(failureBackOff, this.#options);
    while (!reading.signal.aborted) {
      try {
        for await (const batch of records.follow(options.collection, lanes.readUpTo, reading.signal)) {
          backOff.reset();
          this.#recovered();
          if (batch.isTrimmed && options.startFrom !== 'beginning')
            observe({
              kind: 'collection.changes-missed',
              functionName,
              collection: options.collection,
              position: lanes.readUpTo,
            });
          lanes.add(
            batch.changes.filter(({ kind }) => options.kinds.has(kind)),
            batch.upTo,
          );
          session.wakeUp.notify();
          this.#deliverNext(session);
          while (lanes.waiting >= mostWaiting && !reading.signal.aborted) await this.#oneFinished(reading.signal);
        }
      } catch (error) {
        if (!reading.signal.aborted) this.#failed(error);
      }
      await backOff.wait(reading.signal).catch(() => undefined);
    }
  }

  async #oneFinished(signal: AbortSignal): Promise<void> {
    const paused = new Promise<void>((resolve) => this.#options.clock.after(checkpointMs, resolve));
    await untilAborted(Promise.race([...this.#running, paused]), signal);
  }

  #deliverNext(session: Session): void {
    const { options } = this.#options;
    while (this.#state.is('listening') && !session.reading.signal.aborted) {
      const changes = session.lanes.take(options.maxConcurrentRecords * this.#workers);
      if (!changes) return;
      const running = this.#deliver(session, changes).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #deliver(session: Session, changes: readonly RecordChange[]): Promise<void> {
    const { functionName, options, observe } = this.#options;
    if ((await this.#runChanges(session, changes)) === 'again') session.lanes.putBack(changes);
    else {
      session.lanes.finish(changes);
      session.wakeUp.notify();
      observe({ kind: 'collection.completed', functionName, collection: options.collection, changes: changes.length });
    }
    this.#deliverNext(session);
  }

  async #runChanges(session: Session, changes: readonly RecordChange[]): Promise<ChangeOutcome> {
    const { records } = this.#options;
    const lost = new AbortController();
    const lose = (): void => lost.abort(new Error('the lease is lost, or the listener was stopped'));
    const ends = [session.held.lost, this.#cut.signal];
    for (const signal of ends) signal.addEventListener('abort', lose, { once: true });
    if (ends.some(({ aborted }) => aborted)) lose();
    const storeFailed: ChangeRunParts['storeFailed'] = (given, why) => records.storeFailed(this.#trigger, given, why);
    const parts = { ...this.#options, storeFailed };
    const outcome = await runChanges(changes, parts, { closing: this.#closing.signal, lost: lost.signal });
    for (const signal of ends) signal.removeEventListener('abort', lose);
    return outcome;
  }

  /** Runs for changes again that were given up before, one at a time, until the lease is lost or the listener ends. */
  async #replayFailed(session: Session): Promise<void> {
    const { signal } = session.reading;
    const backOff = new BackOff(failureBackOff, this.#options);
    while (!signal.aborted) {
      try {
        for await (const changes of this.#options.records.replays(this.#trigger, signal)) {
          backOff.reset();
          for (const change of changes) {
            const running = this.#replay(session, change).finally(() => this.#running.delete(running));
            this.#running.add(running);
            await running;
          }
        }
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
      }
      await backOff.wait(signal).catch(() => undefined);
    }
  }

  /** A replay is later than newer changes of its record, but never at the same time. */
  async #replay(session: Session, change: RecordChange): Promise<void> {
    const { functionName, options, records, observe } = this.#options;
    const { lanes, reading } = session;
    const isReserved = (): boolean =>
      this.#state.is('listening') && lanes.reserve(change.recordId, options.maxConcurrentRecords * this.#workers);
    while (!reading.signal.aborted && !isReserved()) await this.#oneFinished(reading.signal);
    if (reading.signal.aborted) return;
    try {
      if ((await this.#runChanges(session, [change])) !== 'done') return;
      await records.removeFailed(this.#trigger, change);
      observe({ kind: 'collection.replayed', functionName, collection: options.collection, position: change.position });
    } finally {
      lanes.release(change.recordId);
      this.#deliverNext(session);
    }
  }

  /** Writes the checkpoint while the session lasts, and once more at its end. */
  async #writeCheckpoints({ held, lanes, reading, wakeUp }: Session): Promise<void> {
    const { clock } = this.#options;
    let written = parseCheckpoint(held.state)?.position;
    const isOver = (): boolean => reading.signal.aborted && this.#running.size === 0;
    for (;;) {
      wakeUp.reset();
      const position = lanes.reached;
      if (position !== written && !(await held.write(encodeCheckpoint({ position })))) return;
      written = position;
      if (isOver()) return;
      await wakeUp.wait(clock, 60_000, held.lost);
      if (held.lost.aborted) return;
      if (!isOver()) await untilAborted(new Promise((resolve) => clock.after(checkpointMs, resolve)), reading.signal);
    }
  }

  #failed(error: unknown): void {
    const { functionName, options, clock, observe } = this.#options;
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = clock.monotonicMs();
    observe({ kind: 'collection.unavailable', functionName, collection: options.collection, error });
  }

  #recovered(): void {
    const { functionName, options, clock, observe } = this.#options;
    if (this.#awaySinceMs === undefined) return;
    const afterMs = clock.monotonicMs() - this.#awaySinceMs;
    this.#awaySinceMs = undefined;
    observe({ kind: 'collection.available', functionName, collection: options.collection, afterMs });
  }
}
