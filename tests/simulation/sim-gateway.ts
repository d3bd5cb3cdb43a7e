import {
  CollectionRoutes,
  defaultEndpointPolicy,
  pickEndpoint,
  RetryBudget,
  CollectionEndpoints,
  type CollectionEndpoint,
} from '@drover/gateway/testing';
import type { SimClock } from '@drover/scale-controller/testing';
import type { SimDatabase } from './sim-database.js';
import type { SimNetwork } from './sim-network.js';
import { SimProcess } from './sim-process.js';

/** What became of a request that a gateway sent to a worker. */
export type SimAnswer = 'served' | 'not-assigned' | 'refused' | 'silent';

export interface SimGatewayOptions {
  readonly clock: SimClock;
  readonly database: SimDatabase;
  readonly network: SimNetwork;
  /** Sends a request for a collection to a worker, which serves it `anyway` or only if it holds the collection. */
  readonly send: (url: string, collectionId: string, anyway: boolean) => SimAnswer;
  readonly fail: (violation: string) => void;
}

/** How long a worker may be silent until it is ejected and the request goes elsewhere. */
const probeMs = 2_000;
/** How long a request waits for a route. */
const heldMs = 10_000;
const heldStepMs = 250;
const mostAttempts = 8;

/** A gateway: routes and choice of production, fed by late, repeated and lost events. */
export class SimGateway {
  readonly name: string;
  readonly process: SimProcess;
  readonly routes: CollectionRoutes;
  readonly #options: SimGatewayOptions;
  readonly #budget = new RetryBudget();
  readonly #seen = new Map<string, number>();
  #isLoaded = false;

  constructor(name: string, options: SimGatewayOptions) {
    const { clock, database, network } = options;
    const process = new SimProcess(clock, name);
    this.name = name;
    this.#options = options;
    this.process = process;
    this.routes = new CollectionRoutes({
      database: database.connect(() => process.isRunning),
      bus: network.busOf(process),
      endpoints: new CollectionEndpoints({
        policy: defaultEndpointPolicy,
        clock: process.time,
        onBusy: () => undefined,
      }),
      clock: process.time,
    });
    this.routes.onChange = (collectionId) => this.#changed(collectionId);
    void this.routes.start().then(
      () => {
        this.#isLoaded = true;
      },
      () => undefined,
    );
  }

  get isReady(): boolean {
    return this.#isLoaded && this.process.isRunning;
  }

  /** Sends a request to where the collection is served; returns undefined when it was served, else why not. */
  async request(collectionId: string): Promise<string | undefined> {
    const { clock, send } = this.#options;
    const { randomness } = this.process;
    const untilMs = clock.nowMs + heldMs;
    let [tried, anyway]: [CollectionEndpoint[], boolean] = [[], false];
    this.#budget.earn();
    for (let attempt = 0; attempt < mostAttempts; ) {
      const endpoints = this.routes.find(collectionId)?.endpoints ?? [];
      const pick = pickEndpoint(endpoints, { nowMs: clock.nowMs, randomness, tried });
      if ('refused' in pick) {
        if (clock.nowMs >= untilMs) return `${pick.refused} of ${endpoints.length} endpoints`;
        await this.process.sleep(heldStepMs);
        await this.routes.catchUp();
        tried = []; // workers that were away are tried again
        continue;
      }
      attempt += 1;
      const { endpoint } = pick;
      endpoint.begin(clock.nowMs);
      await this.process.sleep(clock.between(0.2, 20));
      const answer = send(endpoint.url.href, collectionId, anyway);
      if (answer === 'silent') await this.process.sleep(probeMs);
      const isAnswered = answer === 'served' || answer === 'not-assigned';
      endpoint.end(isAnswered ? 'answered' : 'gateway-error', 5, clock.nowMs);
      if (answer === 'served') return undefined;
      tried.push(endpoint);
      if (answer === 'not-assigned') {
        await this.routes.refresh(collectionId);
        const known = this.routes.find(collectionId)?.endpoints ?? [];
        if (known.every((each) => tried.includes(each))) [tried, anyway] = [[], true];
      } else if (!this.#budget.spend()) return answer;
    }
    return `${mostAttempts} attempts`;
  }

  /** A route never becomes older. */
  #changed(collectionId: string | undefined): void {
    if (collectionId === undefined) return;
    const generation = this.routes.find(collectionId)?.generation;
    const seen = this.#seen.get(collectionId) ?? 0;
    // A late route of a removed collection does no harm: its name leads nowhere.
    if (generation === undefined) this.#seen.delete(collectionId);
    else if (generation < seen)
      this.#options.fail(`${this.name} goes back from generation ${seen} of ${collectionId} to ${generation}`);
    else this.#seen.set(collectionId, generation);
  }
}
