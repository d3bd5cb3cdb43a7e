import { collectionChanged, collectionRouteChanged, workerStatusChanged, type PublishedEvent } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import type { Clock, Lifecycle } from '@drover/service-kit';
import type { CollectionEndpoint } from '../endpoints/collection-endpoint.js';
import type { CollectionEndpoints } from '../endpoints/collection-endpoints.js';
import { byPreference } from '../picking/preference.js';
import { CollectionRouteTable, type ServedRoute } from './route-table.js';

export interface CollectionRoutesOptions {
  readonly database: Queryable;
  readonly bus: Pick<EventBus, 'subscribe' | 'lastPosition'>;
  readonly endpoints: CollectionEndpoints;
  /** Workers of this zone are preferred. */
  readonly zone?: string | undefined;
  readonly clock: Clock;
}

/** The workers that serve a collection, ready to be called. */
export interface RoutedCollection {
  readonly generation: number;
  /** In the order of preference. */
  readonly endpoints: readonly CollectionEndpoint[];
}

interface RouteRow {
  readonly collection_id: string;
  readonly tenant_id: string;
  readonly generation: number;
  readonly endpoints: ServedRoute['endpoints'];
}

/** A lost event delays a change by no more than this, */
const pollMs = 30_000;
/** and by no more than this while requests wait for it. */
const catchUpMs = 250;

const columns = `select r.collection_id, c.tenant_id, r.generation, r.endpoints
  from drover.collection_routes r join drover.collections c on c.id = r.collection_id`;
const allStatement = prepared('gateway-routes', columns);
const oneStatement = prepared('gateway-route', `${columns} where r.collection_id = $1`);
/** Any change of a route makes the sum higher, also one whose event was lost before that of another route came. */
const summaryStatement = prepared(
  'gateway-route-summary',
  `select coalesce(sum(generation), 0)::float8 as generations, count(*)::int as routes,
     exists (select from drover.collection_workers where status in ('STARTING', 'READY', 'DRAINING')) as has_workers
   from drover.collection_routes`,
);

/**
 * Which workers serve which collection: a snapshot from PostgreSQL, kept current by events, read again after a gap and, if it differs,
 * twice a minute. While PostgreSQL or the control plane is away, the last known routes hold.
 */
export class CollectionRoutes implements Lifecycle {
  readonly name = 'collection routes';
  readonly #options: CollectionRoutesOptions;
  readonly #table = new CollectionRouteTable();
  readonly #routed = new Map<string, RoutedCollection>();
  /** Of all collections of a tenant, made when it is first asked for after a change. */
  readonly #byTenant = new Map<string, RoutedCollection>();
  readonly #refreshes = new Map<string, Promise<void>>();
  #hasWorkers = false;
  #subscription: Subscription | undefined;
  #polling: Promise<void> | undefined;
  #polledMs = 0;
  #cancelPoll: (() => void) | undefined;
  #isStopped = false;
  /** Called with a collection whose route has changed, and without one if the workers have. */
  onChange: ((collectionId: string | undefined) => void) | undefined;

  constructor(options: CollectionRoutesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    const from = await bus.lastPosition();
    await this.#load();
    this.#subscription = await bus.subscribe({
      topics: [collectionRouteChanged, collectionChanged, workerStatusChanged],
      from,
      handle: (event) => this.#take(event),
      onGap: () => this.#load(),
    });
    this.#pollLater();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll?.();
    await this.#subscription?.close();
    await this.#options.endpoints.close();
  }

  /** Collections with a route. */
  get size(): number {
    return this.#table.size;
  }

  /** Whether a worker has registered that may serve, now or soon. */
  get hasWorkers(): boolean {
    return this.#hasWorkers;
  }

  find(collectionId: string): RoutedCollection | undefined {
    return this.#routed.get(collectionId);
  }

  /** Returns the workers of all collections of a tenant; every worker that is known if the tenant has none. */
  findForTenant(tenantId: string): RoutedCollection {
    const own = this.findOwn(tenantId);
    return own.endpoints.length > 0 ? own : { generation: 0, endpoints: this.#options.endpoints.all };
  }

  /** Returns the workers of all collections of a tenant. */
  findOwn(tenantId: string): RoutedCollection {
    const known = this.#byTenant.get(tenantId);
    if (known) return known;
    const own = [...this.#table.all].filter((route) => route.tenantId === tenantId);
    const endpoints = new Set(own.flatMap(({ collectionId }) => this.#routed.get(collectionId)?.endpoints ?? []));
    const routed = { generation: 0, endpoints: byPreference(tenantId, [...endpoints], this.#options.zone) };
    this.#byTenant.set(tenantId, routed);
    return routed;
  }

  /** Reads the route of one collection. Resolves also if PostgreSQL is away: what is known holds. */
  refresh(collectionId: string): Promise<void> {
    const running = this.#refreshes.get(collectionId);
    if (running) return running;
    const refresh = this.#refresh(collectionId)
      .catch(() => undefined)
      .finally(() => this.#refreshes.delete(collectionId));
    this.#refreshes.set(collectionId, refresh);
    return refresh;
  }

  /** Reads what has changed, at most four times a second. Resolves also if PostgreSQL is away. */
  catchUp(): Promise<void> {
    if (!this.#polling && this.#options.clock.monotonicMs() - this.#polledMs < catchUpMs) return Promise.resolve();
    this.#polling ??= this.#poll()
      .catch(() => undefined)
      .finally(() => {
        this.#polledMs = this.#options.clock.monotonicMs();
        this.#polling = undefined;
      });
    return this.#polling;
  }

  async #refresh(collectionId: string): Promise<void> {
    const [row] = await this.#options.database.query<RouteRow>(oneStatement, [collectionId]);
    if (row && this.#table.apply(toRoute(row))) this.#resolve(collectionId);
  }

  async #load(): Promise<void> {
    await this.#readSummary();
    const since = this.#table.generation;
    const rows = await this.#options.database.query<RouteRow>(allStatement);
    for (const collectionId of this.#table.load(rows.map(toRoute), since)) this.#resolve(collectionId);
  }

  async #readSummary(): Promise<{ readonly generations: number; readonly routes: number }> {
    type Summary = { readonly generations: number; readonly routes: number; readonly has_workers: boolean };
    const [summary] = await this.#options.database.query<Summary>(summaryStatement);
    const { generations = 0, routes = 0, has_workers: hasWorkers = false } = summary ?? {};
    if (hasWorkers !== this.#hasWorkers) {
      this.#hasWorkers = hasWorkers;
      this.onChange?.(undefined);
    }
    return { generations, routes };
  }

  async #take({ topic, payload }: PublishedEvent): Promise<void> {
    if (topic === workerStatusChanged.name) return void (await this.#readSummary());
    if (topic === collectionRouteChanged.name) {
      const route = payload as ServedRoute; // of this topic
      if (this.#table.apply(route)) this.#resolve(route.collectionId);
      return;
    }
    const { collectionId, removed } = payload as { collectionId: string; removed: boolean }; // of the third topic
    if (removed && this.#table.remove(collectionId)) this.#resolve(collectionId);
  }

  /** Makes the table's route of a collection the one that requests take from now on. */
  #resolve(collectionId: string): void {
    const { endpoints, zone } = this.#options;
    const before = this.#routed.get(collectionId);
    const route = this.#table.find(collectionId);
    // Acquired before the former ones are released: a worker in both keeps its connections.
    if (route)
      this.#routed.set(collectionId, {
        generation: route.generation,
        endpoints: byPreference(collectionId, endpoints.acquire(route.endpoints), zone),
      });
    else this.#routed.delete(collectionId);
    if (before) endpoints.release(before.endpoints);
    this.#byTenant.clear();
    this.onChange?.(collectionId);
  }

  #pollLater(): void {
    this.#cancelPoll = this.#options.clock.after(pollMs, () => {
      void this.catchUp().finally(() => this.#isStopped || this.#pollLater());
    });
  }

  async #poll(): Promise<void> {
    const { generations, routes } = await this.#readSummary();
    if (generations !== this.#table.generations || routes !== this.#table.size) await this.#load();
  }
}

function toRoute({ collection_id: collectionId, tenant_id: tenantId, generation, endpoints }: RouteRow): ServedRoute {
  return { collectionId, tenantId, generation, endpoints };
}
