import { collectionCapacityNeeded, hasCode, workerStatusChanged } from '@drover/contracts';
import type { EventBus, Subscription } from '@drover/event-bus';
import { instanceErrors, type Instance, type InstanceProvider } from '@drover/instance-provider';
import { WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { StartDelays } from '../failures/start-delays.js';
import type { LeaderTerm } from '../leadership/leadership.js';
import type {
  CollectionFleetAction,
  CollectionFleetPolicy,
  CollectionFleetState,
  WorkerInstance,
} from './collection-fleet-types.js';
import type { FleetReader } from './fleet-reader.js';
import type { CollectionFleetObservation } from './observations.js';
import { planCollectionWorkers, startedWorkerPrefix } from './plan-collection-workers.js';

export interface CollectionFleetParts {
  readonly reader: Pick<FleetReader, 'read'>;
  readonly bus: Pick<EventBus, 'subscribe'>;
  readonly policy: CollectionFleetPolicy;
  /** Asks the control plane to move the collections of a worker to others. A worker that it does not know is no error. */
  readonly drainWorker: (workerId: string) => Promise<void>;
}

interface CollectionFleetOptions extends CollectionFleetParts {
  readonly term: LeaderTerm;
  readonly provider: Pick<InstanceProvider, 'start' | 'end' | 'forget'>;
  readonly resign: (reason: string) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionFleetObservation>;
}

/** Events hasten a pass; without any, this is how long a change of the tables waits. */
const tickMs = 2_000;
/** Time that a worker without collections has for its last requests. */
const endGraceMs = 30_000;
const delayKey = 'collection workers';

/**
 * Starts and ends collection workers while the process leads: reads what the control plane has stored, compares it with the processes,
 * and carries out the plan. Nothing of it is stored: instances outlive the process, and the control plane has the rest.
 */
export class CollectionFleet {
  readonly #options: CollectionFleetOptions;
  readonly #instances = new Map<string, WorkerInstance & { readonly seenMs: number }>();
  readonly #delays = new StartDelays();
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #state: CollectionFleetState;
  #subscription: Subscription | undefined;

  constructor(options: CollectionFleetOptions) {
    this.#options = options;
    this.#state = { beganMs: options.clock.monotonicMs(), since: new Map() };
  }

  /** Begins with the processes of the leader before. */
  start(instances: readonly Instance[]): void {
    this.listed(instances, this.#nowMs());
    void this.#run();
  }

  stop(): void {
    this.#stopping.abort();
  }

  changed({ instanceId, labels, state, end }: Instance): void {
    const instance = { workerId: instanceId, pool: labels['pool'] ?? '', state, hasFailed: end?.isClean === false };
    this.#instances.set(instanceId, { ...instance, seenMs: this.#nowMs() });
    this.#wakeUp.notify();
  }

  /** Compares with all processes, as they were at `asOfMs` of the monotonic clock. */
  listed(instances: readonly Instance[], asOfMs: number): void {
    const ids = new Set(instances.map(({ instanceId }) => instanceId));
    for (const [id, { seenMs }] of this.#instances) if (!ids.has(id) && seenMs < asOfMs) this.#instances.delete(id);
    for (const instance of instances)
      if (this.#instances.get(instance.instanceId)?.state !== instance.state) this.changed(instance);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wakeUp.reset();
      await this.#try('read', 'list', () => this.#pass());
      await this.#wakeUp.wait(this.#options.clock, tickMs, signal);
    }
    await this.#subscription?.close();
  }

  async #pass(): Promise<void> {
    const { reader, bus, term, policy } = this.#options;
    if (policy.maxWorkers === 0 && this.#instances.size === 0) return; // it may start none, and has none to end
    this.#subscription ??= await bus.subscribe({
      topics: [collectionCapacityNeeded, workerStatusChanged],
      from: 'now',
      handle: () => this.#wakeUp.notify(),
      onGap: () => this.#wakeUp.notify(),
    });
    const stored = await reader.read();
    if (!stored || !term.isHeld()) return;
    const nowMs = this.#nowMs();
    const mayStart = nowMs >= this.#delays.nextStartMs(delayKey, nowMs);
    const instances = [...this.#instances.values()];
    const { state, actions } = planCollectionWorkers(this.#state, { nowMs, ...stored, instances, mayStart }, policy);
    this.#state = state;
    for (const action of actions) await this.#act(action);
  }

  async #act(action: CollectionFleetAction): Promise<void> {
    const { provider, term, drainWorker, observe } = this.#options;
    if (this.#stopping.signal.aborted || !term.isHeld()) return;
    if (action.kind === 'start') {
      for (let left = action.count; left > 0; left -= 1) await this.#start(action);
      return;
    }
    const { workerId } = action;
    await this.#try(action.kind, workerId, async () => {
      switch (action.kind) {
        case 'drain':
          await drainWorker(workerId);
          observe({ kind: 'collection-fleet.drained', workerId, cause: action.cause });
          return;
        case 'end':
          if (action.cause !== 'drained') this.#failed();
          observe({ kind: 'collection-fleet.ended', workerId, cause: action.cause });
          return provider.end(workerId, endGraceMs, term.token);
        case 'forget':
          if (action.hasFailed) {
            this.#failed();
            observe({ kind: 'collection-fleet.lost', workerId });
          }
          await provider.forget(workerId, term.token);
          this.#instances.delete(workerId);
      }
    });
  }

  async #start({ pool, cause }: Extract<CollectionFleetAction, { readonly kind: 'start' }>): Promise<void> {
    const { provider, term, randomness, observe } = this.#options;
    const workerId = `${startedWorkerPrefix}${randomness.uuid().slice(0, 8)}`;
    const hasStarted = await this.#try('start', workerId, () =>
      provider.start(
        {
          instanceId: workerId,
          role: 'collection-worker',
          labels: { pool },
          environment: { WORKER_ID: workerId, WORKER_POOL: pool },
          args: [],
        },
        term.token,
      ),
    );
    if (!hasStarted) return this.#failed();
    observe({ kind: 'collection-fleet.started', workerId, pool, cause });
    if (this.#instances.has(workerId)) return;
    this.#instances.set(workerId, { workerId, pool, state: 'starting', hasFailed: false, seenMs: this.#nowMs() });
  }

  #failed(): void {
    this.#delays.record(delayKey, this.#nowMs());
  }

  /** Returns whether the call succeeded. One that failed is tried again with the next pass, if it is still needed then. */
  async #try(call: string, workerId: string, run: () => Promise<void>): Promise<boolean> {
    const { observe, resign } = this.#options;
    try {
      await run();
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (hasCode(error, instanceErrors.instanceFenced.code)) resign(reason);
      else if (!this.#stopping.signal.aborted)
        observe({ kind: 'collection-fleet.call-failed', call, workerId, reason });
      return false;
    }
  }
}
