import { defineStates } from '@drover/contracts';
import { deadlineAfter, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { eventHubUnavailable } from '../errors.js';
import { untilAborted } from '../requests.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import type { CheckpointStore } from './checkpoint-store.js';
import type { DeadLetterTarget, HubClient } from './hub-client.js';
import type { EventHubOptions } from './event-hub-options.js';
import { hubReason, type HubFailure } from './hub-failure.js';
import { hubBacklog, type ArrivalSample } from './measure-event-hub.js';
import type { EventHubObservation } from './observations.js';
import { Outage } from './outage.js';
import { HubPartitionClaims } from './partition-claims.js';
import { PartitionPump } from './partition-pump.js';

/**
 * - created: not started
 * - listening: claims partitions and delivers their events
 * - paused: delivers nothing; partitions are kept, and given back if the pause lasts longer than the expiry of a claim
 * - draining: receives nothing; running batches finish, then their partition is given back
 * - stopped: all partitions are given back
 */
export const eventHubListenerStates = defineStates('event hub listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface EventHubListenerOptions {
  readonly functionName: string;
  readonly hub: HubClient;
  /** The setting of the connection, for messages. */
  readonly setting: string;
  readonly store: CheckpointStore;
  readonly deadLetters: DeadLetterTarget | undefined;
  readonly options: EventHubOptions;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventHubObservation>;
}

const stopWithinMs = 5_000;
/** A store of our own is cheap to ask. In blob storage the intervals are those of hosts in Azure, which may share it. */
const intervals = {
  own: { updateIntervalMs: 5_000, expiryMs: 20_000 },
  shared: { updateIntervalMs: 30_000, expiryMs: 120_000 },
};

/** Listens to one event hub for one function. */
export class EventHubListener implements TriggerListener {
  readonly name: string;
  /** Nothing breaks it: failures of the hub and of the store are retried. */
  readonly broken: Promise<unknown> = new Promise(() => undefined);
  readonly #options: EventHubListenerOptions;
  readonly #state;
  readonly #claims: HubPartitionClaims;
  readonly #pumps = new Map<string, PartitionPump>();
  readonly #hubOutage: Outage<HubFailure>;
  readonly #storeOutage: Outage<'store'>;
  readonly #closing = new AbortController();
  readonly #expiryMs: number;
  readonly #resumed = new Set<() => void>();
  #pausedSinceMs: number | undefined;
  #claiming: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #sample: ArrivalSample | undefined;

  constructor(listenerOptions: EventHubListenerOptions) {
    this.#options = listenerOptions;
    const { functionName, hub, store, options, clock, randomness, observe, setting } = listenerOptions;
    const place = { functionName, hub: hub.name };
    this.name = `event hub trigger ${functionName}`;
    this.#state = eventHubListenerStates.start('created', ({ to }) =>
      observe({ kind: 'event-hub.listener', ...place, state: to }),
    );
    this.#hubOutage = new Outage(clock, {
      onBegin: (failure, error) => observe({ kind: 'event-hub.unavailable', ...place, failure, setting, error }),
      onEnd: (afterMs) => observe({ kind: 'event-hub.available', ...place, afterMs }),
    });
    this.#storeOutage = new Outage(clock, {
      onBegin: (_, error) => observe({ kind: 'event-hub.store-unavailable', ...place, store: store.name, error }),
      onEnd: (afterMs) => observe({ kind: 'event-hub.store-available', ...place, store: store.name, afterMs }),
    });
    const defaults = store.keepsLevels ? intervals.own : intervals.shared;
    const updateIntervalMs =
      options.updateIntervalMs ?? Math.min(defaults.updateIntervalMs, (options.ownershipExpiryMs ?? Infinity) / 3);
    this.#expiryMs = options.ownershipExpiryMs ?? Math.max(defaults.expiryMs, updateIntervalMs * 3);
    this.#claims = new HubPartitionClaims({
      hub,
      store,
      ownerId: randomness.uuid(),
      updateIntervalMs,
      expiryMs: this.#expiryMs,
      clock,
      randomness,
      hubOutage: this.#hubOutage,
      storeOutage: this.#storeOutage,
      mayClaim: () => this.#mayClaim(),
      onClaimed: (partitionId, ownerLevel) => this.#begin(partitionId, ownerLevel),
      onLost: (partitionId) => void this.#end(partitionId, 'another runtime claimed it'),
    });
  }

  /** Resolves without waiting for the service: the listener retries while the service is unavailable or the hub missing. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    this.#claiming = this.#claims.run(this.#closing.signal);
  }

  pause(): void {
    if (!this.#state.is('listening')) return;
    this.#state.move('paused');
    this.#pausedSinceMs = this.#options.clock.monotonicMs();
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    const wasLong = !this.#isPauseShort();
    this.#pausedSinceMs = undefined;
    for (const pump of this.#pumps.values()) pump.resume();
    for (const settle of this.#resumed) settle();
    if (wasLong) this.#claims.wake();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) this.#state.move('draining');
    const drained = [...this.#pumps].map(async ([partitionId, pump]) => {
      await pump.drain(deadline);
      if (!deadline.aborted) await this.#giveBack(partitionId, 'the listener drains', deadline);
    });
    await untilAborted(
      Promise.all(drained).then(() => undefined),
      deadline,
    );
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { hub, store, clock, options } = this.#options;
    try {
      const [{ partitionIds }, checkpoints] = await Promise.all([hub.describe(signal), store.checkpoints(signal)]);
      const ends = await Promise.all(partitionIds.map((partitionId) => hub.ends(partitionId, signal)));
      const before = this.#sample;
      const last = new Map(partitionIds.map((partitionId, index) => [partitionId, ends[index]?.last ?? -1]));
      const sample = { atMs: clock.monotonicMs(), last };
      this.#sample = sample;
      const partitions = partitionIds.flatMap((partitionId, index) => {
        const found = ends[index];
        const pump = this.#pumps.get(partitionId);
        const { finished, delivered } = pump?.progress ?? {};
        const checkpoint = checkpoints.find((one) => one.partitionId === partitionId);
        return found
          ? [{ partitionId, ends: found, checkpoint, finished, delivered, oldestAtMs: pump?.oldestAtMs }]
          : [];
      });
      const backlog = hubBacklog(partitions, options.initialOffset, { nowMs: clock.now(), before, sample });
      return { ...backlog, targetPerWorker: options.targetPerWorker };
    } catch (error) {
      throw eventHubUnavailable({ hub: hub.name, operation: 'measure', reason: hubReason(error) }, error);
    }
  }

  /** Waits for running batches no longer: their signal aborts. */
  async #stop(): Promise<void> {
    const { clock, hub } = this.#options;
    this.#state.move('stopped');
    this.#closing.abort();
    for (const settle of this.#resumed) settle();
    const deadline = deadlineAfter(clock, stopWithinMs);
    await Promise.all([...this.#pumps.keys()].map((id) => this.#giveBack(id, 'the listener stops', deadline.signal)));
    deadline.cancel();
    await this.#claiming;
    await hub.close();
  }

  /** A runtime that does not deliver must not keep partitions from others. */
  #mayClaim(): boolean {
    if (!this.#state.is('listening', 'paused')) return false;
    if (this.#isPauseShort()) return true;
    for (const partitionId of this.#pumps.keys())
      void this.#giveBack(partitionId, 'the listener is paused', this.#closing.signal);
    return false;
  }

  #isPauseShort(): boolean {
    const sinceMs = this.#pausedSinceMs;
    return sinceMs === undefined || this.#options.clock.monotonicMs() - sinceMs < this.#expiryMs;
  }

  #begin(partitionId: string, ownerLevel: number): void {
    if (!this.#state.is('listening', 'paused')) return;
    const { hub, options } = this.#options;
    const place = { host: hub.host, hub: hub.name, consumerGroup: options.consumerGroup, partitionId };
    const pump = new PartitionPump({
      ...this.#options,
      place,
      isBatch: options.isBatch,
      onFailure: options.onFailure,
      ownerLevel,
      hubOutage: this.#hubOutage,
      storeOutage: this.#storeOutage,
      isPaused: () => !this.#state.is('listening'),
      unpaused: (signal) => this.#unpaused(signal),
      isOwner: () => this.#claims.isOwner(partitionId, this.#closing.signal),
      onLost: (reason) => {
        this.#claims.forget(partitionId);
        void this.#end(partitionId, reason);
      },
    });
    void this.#pumps.get(partitionId)?.end('it is claimed again');
    this.#pumps.set(partitionId, pump);
    this.#observeOwned();
  }

  async #end(partitionId: string, reason: string): Promise<void> {
    const pump = this.#pumps.get(partitionId);
    this.#pumps.delete(partitionId);
    this.#observeOwned();
    await pump?.end(reason);
  }

  /** Writes the last checkpoint, then releases the claim: the next owner starts from there. */
  async #giveBack(partitionId: string, reason: string, signal: AbortSignal): Promise<void> {
    await this.#end(partitionId, reason);
    await this.#claims.release(partitionId, signal);
  }

  async #unpaused(signal: AbortSignal): Promise<void> {
    while (this.#state.is('paused') && !signal.aborted) {
      let settle = (): void => undefined;
      await untilAborted(
        new Promise<void>((resolve) => {
          settle = resolve;
          this.#resumed.add(resolve);
        }),
        signal,
      );
      this.#resumed.delete(settle);
    }
  }

  #observeOwned(): void {
    const { functionName, hub, observe } = this.#options;
    observe({ kind: 'event-hub.owned', functionName, hub: hub.name, partitions: this.#pumps.size });
  }
}
