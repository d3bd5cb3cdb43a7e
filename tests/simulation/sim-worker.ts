import {
  AssignedCollections,
  CollectionPreparer,
  Membership,
  type ControlPlaneCalls,
} from '@drover/collection-worker/testing';
import type { NewCollectionWorker, WorkerAssignment, CollectionWorkerHeartbeat } from '@drover/contracts';
import type { SimClock } from '@drover/scale-controller/testing';
import { WakeUp } from '@drover/service-kit';
import type { SimControlPlane } from './sim-control-plane.js';
import type { SimNetwork } from './sim-network.js';
import { SimProcess } from './sim-process.js';

export interface SimWorkerOptions {
  readonly clock: SimClock;
  readonly network: SimNetwork;
  readonly planes: readonly SimControlPlane[];
  /** CPU milliseconds per second that one replica of a collection costs. */
  readonly loadOf: (collectionId: string) => number;
  /** Called when a process has prepared what an order told it to. */
  readonly onPrepared: (workerId: string, order: WorkerAssignment) => void;
  /** Whether the worker cannot prepare the collection now. */
  readonly isBroken: (workerId: string, collectionId: string) => boolean;
}

const handoverMs = 60_000;
const idleLoad = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** One process of a collection worker: the membership of production, with calls that may be lost. */
export class SimWorker {
  readonly facts: NewCollectionWorker;
  readonly process: SimProcess;
  readonly assigned = new AssignedCollections();
  readonly #options: SimWorkerOptions;
  readonly #membership: Membership;
  #isLeaving = false;

  constructor(facts: NewCollectionWorker, options: SimWorkerOptions) {
    this.facts = facts;
    this.#options = options;
    const process = new SimProcess(options.clock, facts.workerId);
    const { assigned } = this;
    const wakeUp = new WakeUp();
    const io = { clock: process.time, randomness: process.randomness };
    const onChange = (): void => wakeUp.notify();
    const preparer = new CollectionPreparer({ prepare: (order) => this.#prepare(order), assigned, onChange, ...io });
    this.process = process;
    this.#membership = new Membership({
      describe: () => facts,
      connections: () => 0,
      calls: () => this.#calls,
      assigned,
      preparer,
      load: { read: () => ({ load: idleLoad, sinceMs: 1_000 }) },
      problem: () => undefined,
      bus: options.network.busOf(process),
      handoverMs,
      wakeUp,
      observe: () => undefined,
      ...io,
    });
    this.#log('starts');
    void this.#membership.start();
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get isRegistered(): boolean {
    return this.#membership.problem() === undefined;
  }

  /** SIGTERM. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#log('leaves');
    this.#isLeaving = true;
    void this.#membership.drain(new AbortController().signal).then(() => {
      if (!this.process.isGone) this.#log('has left');
      this.process.kill();
    });
  }

  kill(): void {
    this.#log('is killed');
    this.process.kill();
  }

  async #prepare(order: WorkerAssignment): Promise<void> {
    const { clock, onPrepared, isBroken } = this.#options;
    await this.process.sleep(clock.chance(0.1) ? clock.between(1_000, 8_000) : clock.between(1, 100));
    if (isBroken(this.facts.workerId, order.collectionId)) throw new Error('the storage cannot be read');
    onPrepared(this.facts.workerId, order);
  }

  get #calls(): ControlPlaneCalls {
    const { clock, network, planes, loadOf } = this.#options;
    const up = planes.filter(({ isUp }) => isUp);
    const plane = clock.pick(up.length > 0 ? up : planes); // as a load balancer does
    if (!plane) throw new Error('There is no control plane.');
    const loaded = (body: CollectionWorkerHeartbeat): CollectionWorkerHeartbeat => ({
      ...body,
      collections: body.collections.map((report) => ({ ...report, cpu: loadOf(report.collectionId) })),
    });
    return {
      registerWorker: ({ body }) => network.call(this.process, plane, ({ registry }) => registry.register(body)),
      sendHeartbeat: ({ params, body }) =>
        network.call(this.process, plane, ({ registry }) => registry.heartbeat(params.workerId, loaded(body))),
      deregisterWorker: ({ params, query }) =>
        network.call(this.process, plane, ({ registry }) => registry.deregister(params.workerId, query?.incarnation)),
    };
  }

  #log(what: string): void {
    this.#options.clock.log(`${this.facts.workerId} ${what} (${this.facts.baseUrl})`);
  }
}
