import type { AdmitFunctions } from '@drover/application-catalog';
import type { AdmitNames } from '@drover/collection-engine';
import type { IndexedFunction, RouteClash } from '@drover/contracts';
import { lockInTransaction, prepared, type Queryable, type Transaction } from '@drover/database';
import { applicationRouteTaken, collectionRouteTaken } from './errors.js';
import { findClashes, newRoutes, takenNames, type ClaimedRoute } from './route-clash.js';
import { addedRoutes, findSharedRoutes, methodsOf, routedFunctions, type RoutedFunction } from './shared-routes.js';

const statements = {
  collections: prepared(
    'route-guard-collections',
    'select name from drover.collections where tenant_id = $1 order by name',
  ),
  /** Functions of versions with traffic: no other version gets requests. */
  functions: prepared(
    'route-guard-functions',
    `select application_id, f ->> 'name' as function_name, f #>> '{route,path}' as route, f #>> '{route,literals,1}' as name
     from drover.applications a join drover.application_versions v using (tenant_id, application_id),
       jsonb_array_elements(v.function_index -> 'functions') f
     where tenant_id = $1 and not deleting and coalesce((traffic ->> code_version)::numeric, 0) > 0
       and f #>> '{route,literals,0}' = 'api' and f #>> '{route,literals,1}' = any($2) and not (f ->> 'isDisabled')::boolean
     order by 1, 2, 3`,
  ),
  /** The same for any route of any application but one, all of them or those that begin with the same literal segments as others. */
  routed: prepared(
    'route-guard-routed',
    `select application_id, f ->> 'name' as function_name, f #>> '{route,path}' as route, f #> '{trigger,methods}' as methods
     from drover.applications a join drover.application_versions v using (tenant_id, application_id),
       jsonb_array_elements(v.function_index -> 'functions') f
     where tenant_id = $1 and application_id <> $2 and not deleting and coalesce((traffic ->> code_version)::numeric, 0) > 0
       and f ? 'route' and ($3::jsonb[] is null or f #> '{route,literals}' = any($3)) and not (f ->> 'isDisabled')::boolean
     order by 1, 2, 3`,
  ),
};

interface RoutedRow {
  readonly application_id: string;
  readonly function_name: string;
  readonly route: string;
  readonly methods: unknown;
}

interface FunctionRow {
  readonly application_id: string;
  readonly function_name: string;
  readonly route: string;
  readonly name: string;
}

/**
 * Refuses a path that a collection and a function of the same tenant would both have, or functions of two of its applications. A collection has `/api/{name}` and everything
 * below it; a function clashes with it if its route starts with the same literal segments. Both kinds of change take one lock per tenant
 * before they look at what the other kind has stored, so of two that come at the same time the later one is refused. What clashes
 * already goes on: the gateway prefers the collection.
 */
export class RouteGuard {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Throws COLLECTION_ROUTE_TAKEN. */
  readonly admitNames: AdmitNames = async (tx, tenantId, names) => {
    if (names.length === 0) return;
    await lockRoutes(tx, tenantId);
    const clashes = await this.#findOfNames(tx, tenantId, names);
    if (clashes.length > 0) throw collectionRouteTaken({ clashes });
  };

  /** Throws APPLICATION_ROUTE_TAKEN for routes that the application does not serve yet. */
  readonly admitFunctions: AdmitFunctions = async (tx, { tenantId, applicationId }, functions) => {
    const routes = newRoutes(applicationId, functions);
    const { served, added, isWatched } = functions;
    const routed = addedRoutes(routedFunctions(applicationId, served), routedFunctions(applicationId, added));
    if (routes.length === 0 && routed.length === 0) return;
    await lockRoutes(tx, tenantId);
    const clashes = findClashes(await collectionNames(tx, tenantId), routes);
    // Two folders of a developer often have a function of the same name: both are served, and the log says which path they share.
    if (!isWatched) clashes.push(...(await sharedWith(tx, { tenantId, applicationId, routed, functions: added })));
    if (clashes.length > 0) throw applicationRouteTaken({ applicationId, clashes });
  };

  /** Finds the routes of functions that other applications of the tenant have, too. */
  sharedRoutes(
    { tenantId, applicationId }: { readonly tenantId: string; readonly applicationId: string },
    functions: readonly IndexedFunction[],
  ): Promise<RouteClash[]> {
    const routed = routedFunctions(applicationId, functions);
    return sharedWith(this.#database, { tenantId, applicationId, routed, functions });
  }

  /** Finds what would refuse collections of these names, without keeping others out. */
  ofNames(tenantId: string, names: readonly string[]): Promise<RouteClash[]> {
    return this.#findOfNames(this.#database, tenantId, names);
  }

  /** Returns the clashes that there are. */
  async list(tenantId: string): Promise<RouteClash[]> {
    const names = await collectionNames(this.#database, tenantId);
    const routed = await readRouted(this.#database, tenantId);
    // Each pair once, by the application that comes first.
    const shared = findSharedRoutes(routed, routed).filter(
      (clash) => clash.application < (clash.otherApplication ?? ''),
    );
    return [...findClashes(names, await claimedBy(this.#database, tenantId, names)), ...shared];
  }

  async #findOfNames(target: Queryable, tenantId: string, names: readonly string[]): Promise<RouteClash[]> {
    const isFirst = (await collectionNames(target, tenantId)).length === 0;
    const clashes = findClashes(names, await claimedBy(target, tenantId, names));
    // The first collection has brought the names of the records API.
    return isFirst ? clashes : clashes.filter(({ collection }) => collection !== undefined);
  }
}

async function lockRoutes(tx: Transaction, tenantId: string): Promise<void> {
  await lockInTransaction(tx, `drover.routes ${tenantId}`);
}

async function collectionNames(target: Queryable, tenantId: string): Promise<string[]> {
  const rows = await target.query<{ name: string }>(statements.collections, [tenantId]);
  return rows.map(({ name }) => name);
}

async function sharedWith(
  target: Queryable,
  {
    tenantId,
    applicationId,
    routed,
    functions,
  }: {
    readonly tenantId: string;
    readonly applicationId: string;
    readonly routed: readonly RoutedFunction[];
    readonly functions: readonly IndexedFunction[];
  },
): Promise<RouteClash[]> {
  if (routed.length === 0) return [];
  const literals = functions.flatMap(({ route }) => (route ? [JSON.stringify(route.literals)] : []));
  return findSharedRoutes(routed, await readRouted(target, tenantId, { applicationId, literals }));
}

/** Returns the functions with traffic that have a route; with `but`, those of other applications whose routes begin as these do. */
async function readRouted(
  target: Queryable,
  tenantId: string,
  but?: { readonly applicationId: string; readonly literals: readonly string[] },
): Promise<RoutedFunction[]> {
  const values = [tenantId, but?.applicationId ?? '', but?.literals ?? null];
  const rows = await target.query<RoutedRow>(statements.routed, values);
  return rows.map((row) => ({
    applicationId: row.application_id,
    functionName: row.function_name,
    route: row.route,
    methods: methodsOf(row.methods),
  }));
}

/** Returns the routes of functions with traffic below the names that these collections take. */
async function claimedBy(target: Queryable, tenantId: string, collections: readonly string[]): Promise<ClaimedRoute[]> {
  const names = [...takenNames(collections).keys()];
  if (names.length === 0) return [];
  const rows = await target.query<FunctionRow>(statements.functions, [tenantId, names]);
  return rows.map((row) => ({
    applicationId: row.application_id,
    functionName: row.function_name,
    route: row.route,
    name: row.name,
  }));
}
