import {
  assignmentChanged,
  hasCode,
  type NewCollectionWorker,
  type CollectionWorkerHeartbeat,
  type WorkerOrders,
} from '@drover/contracts';
import type { EventBus, Subscription } from '@drover/event-bus';
import {
  BackOff,
  deadlineAfter,
  messageOf,
  WakeUp,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
} from '@drover/service-kit';
import type { CollectionWorkerObservation } from '../observations.js';
import type { AssignedCollections } from './assigned-collections.js';
import type { CollectionPreparer } from './collection-preparer.js';
import type { ControlPlaneCalls } from './control-plane-calls.js';
import type { LoadMeter } from './load-meter.js';

export interface MembershipOptions {
  /** What the worker says of itself; called once its port listens. */
  readonly describe: () => NewCollectionWorker;
  readonly connections: () => number;
  /** The calls to the control plane; undefined while its address is not known. */
  readonly calls: () => ControlPlaneCalls | undefined;
  readonly assigned: AssignedCollections;
  readonly preparer: Pick<CollectionPreparer, 'add' | 'stop'>;
  readonly load: Pick<LoadMeter, 'read'>;
  /** Why no collection can be served; undefined if nothing prevents it. */
  readonly problem: () => string | undefined;
  readonly bus: Pick<EventBus, 'subscribe'>;
  /** How long a worker that stops waits until others have taken over its collections. */
  readonly handoverMs: number;
  readonly wakeUp: WakeUp;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionWorkerObservation>;
}

interface NextCall {
  readonly afterMs: number;
  /** The call before has failed. */
  readonly isPause: boolean;
}

const retryBackOff = { firstMs: 100, maxMs: 2_000, factor: 2 };
/** How often the file with the address of the control plane is read while it does not exist. */
const addressPollMs = 100;
/** Between heartbeats that do not wait until they are due: a control plane that does not take a report is not called in a loop. */
const newsMs = 100;
const drainingMs = 250;
/** While a collection is prepared: the control plane does not wait for a worker that it does not hear. */
const preparingMs = 1_000;
/** The first failures are usual where the control plane starts at the same time. */
const silentFailures = 5;
/** A worker that stops gives up a control plane that fails so often in a row. One lost call must not end a handover. */
const drainFailures = 3;
/** A problem that lasts this long makes the worker FAILED: a shorter one, such as a restart of PostgreSQL, concerns all workers. */
const failedAfterMs = 30_000;
/** CPU milliseconds per second of the one thread that serves requests. */
const overloadedCpu = 950;
/** A worker whose id another process took over takes it back only once in this time, so that the two do not do so in turns. */
const takeBackMs = 300_000;

/**
 * The place of this worker among the workers of the control plane: registers, sends heartbeats, and takes over the orders in their
 * answers. Events only hasten the next heartbeat. While the control plane is away, the worker serves what it was told last.
 *
 * - unregistered: tries to register until it succeeds
 * - registered: sends a heartbeat when one is due, when a collection is ready or given up, and when an event tells of new orders
 * - draining: told the control plane that it ends; serves on until its collections are REMOVED, the control plane does not answer, or
 *   the time is over
 */
export class Membership implements Lifecycle {
  readonly name = 'membership';
  readonly #options: MembershipOptions;
  readonly #backOff: BackOff;
  readonly #left = new AbortController();
  /** Ends the pause after a failure, which news do not shorten. */
  readonly #pause = new WakeUp();
  #subscription: Subscription | undefined;
  #done: Promise<void> = Promise.resolve();
  #workerId = '';
  #incarnation: number | undefined;
  #isDraining = false;
  #isDeregistered = false;
  #problemSinceMs: number | undefined;
  #takenBackMs = Number.NEGATIVE_INFINITY;
  #failure: string | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#backOff = new BackOff(retryBackOff, options);
  }

  /** Why the control plane does not know this worker, or its state; undefined if it does. */
  problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    return this.#incarnation === undefined ? 'not registered yet' : undefined;
  }

  /** Does not wait for the control plane: requests are served without it. */
  async start(): Promise<void> {
    const { bus, wakeUp, describe } = this.#options;
    this.#workerId = describe().workerId;
    this.#subscription = await bus.subscribe({
      topics: [assignmentChanged],
      from: 'now',
      handle: ({ payload }) => {
        const { workerId } = payload as { readonly workerId: string }; // of this topic
        if (workerId === this.#workerId) wakeUp.notify();
      },
      onGap: () => wakeUp.notify(),
    });
    this.#done = this.#run();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    const { clock, handoverMs, wakeUp } = this.#options;
    this.#isDraining = true;
    wakeUp.notify();
    this.#pause.notify();
    const limit = deadlineAfter(clock, handoverMs, deadline);
    limit.signal.addEventListener('abort', () => this.#left.abort(), { once: true });
    await this.#done;
    limit.cancel();
  }

  async stop(): Promise<void> {
    this.#left.abort();
    this.#options.preparer.stop();
    await this.#subscription?.close();
    await this.#done;
  }

  /** Ends when this worker has left, also in the middle of a call: a control plane that hangs does not hold up the stop. */
  async #run(): Promise<void> {
    const { wakeUp, clock } = this.#options;
    const { signal } = this.#left;
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      wakeUp.reset();
      const next = await Promise.race([this.#exchange(), left]);
      if (!next) return;
      await (next.isPause ? this.#pause : wakeUp).wait(clock, next.afterMs, signal);
    }
  }

  /** Sends what is due. Returns when to do so again, or undefined if this worker has nothing more to tell. */
  async #exchange(): Promise<NextCall | undefined> {
    const calls = this.#options.calls();
    if (!calls) return this.#isDraining ? undefined : { afterMs: addressPollMs, isPause: true };
    try {
      const orders = await this.#call(calls);
      this.#backOff.reset();
      this.#failure = undefined;
      const afterMs = orders && this.#apply(orders);
      return afterMs === undefined ? undefined : { afterMs, isPause: false };
    } catch (error) {
      const afterMs = this.#recover(error);
      const isGivenUp = this.#isDraining && this.#backOff.failures >= drainFailures;
      return isGivenUp ? undefined : { afterMs, isPause: true };
    }
  }

  /** Returns undefined if the worker ends and was never registered. */
  #call(calls: ControlPlaneCalls): Promise<WorkerOrders | undefined> {
    const params = { workerId: this.#workerId };
    if (this.#incarnation === undefined) return this.#isDraining ? Promise.resolve(undefined) : this.#register(calls);
    if (!this.#isDraining || this.#isDeregistered) return this.#beat(calls, this.#incarnation);
    return calls.deregisterWorker({ params, query: { incarnation: this.#incarnation } }).then((orders) => {
      this.#isDeregistered = true;
      return orders;
    });
  }

  async #register(calls: ControlPlaneCalls): Promise<WorkerOrders> {
    const { describe, observe } = this.#options;
    const orders = await calls.registerWorker({ body: describe() });
    this.#incarnation = orders.incarnation;
    observe({ kind: 'worker.registered', workerId: this.#workerId, incarnation: orders.incarnation });
    // STARTING until now: the first heartbeat says that it is ready.
    this.#options.wakeUp.notify();
    return orders;
  }

  async #beat(calls: ControlPlaneCalls, incarnation: number): Promise<WorkerOrders> {
    const { assigned, load: meter, connections, clock } = this.#options;
    const { load, sinceMs } = meter.read(connections());
    const collections = assigned.report(clock.monotonicMs(), { cpu: load.cpu, sinceMs });
    const body = { incarnation, status: this.#status(load), load, collections };
    try {
      return await calls.sendHeartbeat({ params: { workerId: this.#workerId }, body });
    } catch (error) {
      assigned.unreported(collections);
      throw error;
    }
  }

  #status({ cpu }: CollectionWorkerHeartbeat['load']): CollectionWorkerHeartbeat['status'] {
    const { problem, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#problemSinceMs = problem() === undefined ? undefined : (this.#problemSinceMs ?? nowMs);
    if (this.#problemSinceMs !== undefined && nowMs - this.#problemSinceMs >= failedAfterMs) return 'FAILED';
    if (this.#isDraining) return 'DRAINING';
    return cpu >= overloadedCpu ? 'OVERLOADED' : 'READY';
  }

  #apply({ assignments, heartbeatMs, incarnation }: WorkerOrders): number | undefined {
    const { assigned, preparer, clock, observe } = this.#options;
    // Orders for another registration are not for this process.
    if (incarnation !== this.#incarnation) return this.#isDraining ? undefined : newsMs;
    preparer.add(assigned.apply(assignments, clock.monotonicMs()));
    if (this.#isDraining && assigned.isEmpty && !assigned.hasNews) {
      observe({ kind: 'worker.handed-over', workerId: this.#workerId });
      return undefined;
    }
    if (assigned.hasNews) return newsMs;
    if (assigned.isDraining || this.#isDraining) return drainingMs;
    return assigned.isPreparing ? Math.min(preparingMs, heartbeatMs) : heartbeatMs;
  }

  /** Returns when to call again after a call has failed. */
  #recover(error: unknown): number {
    const { observe, clock } = this.#options;
    const workerId = this.#workerId;
    this.#failure = messageOf(error);
    const wasRegistered = this.#incarnation !== undefined;
    if (wasRegistered && hasCode(error, 'WORKER_UNKNOWN')) {
      this.#incarnation = undefined;
      return 0;
    }
    if (wasRegistered && hasCode(error, 'WORKER_REGISTERED_AGAIN')) {
      this.#incarnation = undefined;
      observe({ kind: 'worker.displaced', workerId, reason: this.#failure });
      const waitMs = Math.max(0, this.#takenBackMs + takeBackMs - clock.monotonicMs());
      this.#takenBackMs = clock.monotonicMs() + waitMs;
      return waitMs;
    }
    const waitMs = this.#backOff.nextMs();
    if (this.#backOff.failures === silentFailures) observe({ kind: 'worker.unheard', workerId, reason: this.#failure });
    return waitMs;
  }
}
