import { sharedRecordsNames, type IndexedFunction, type RouteClash } from '@drover/contracts';

/** A function whose route starts with literal segments below `/api/`. */
export interface ClaimedRoute {
  readonly applicationId: string;
  readonly functionName: string;
  /** With parameters: `api/orders/{id}`. */
  readonly route: string;
  /** The segment after `api`, in lower case. */
  readonly name: string;
}

/** Returns the name in the form in which routes are compared: functions match paths in any case. */
export const foldName = (name: string): string => name.toLowerCase();

/**
 * Returns the routes that can only match paths below one name of `/api/`. A route with a parameter in that place is none: it matches
 * the paths that no collection has.
 */
export function claimedRoutes(applicationId: string, functions: readonly IndexedFunction[]): ClaimedRoute[] {
  return functions.flatMap(({ name: functionName, isDisabled, route }) => {
    const [prefix, name] = route?.literals ?? [];
    if (!route || isDisabled || prefix !== 'api' || name === undefined) return [];
    return [{ applicationId, functionName, route: route.path, name }];
  });
}

/** Returns the routes of an application that it does not serve yet. */
export function newRoutes(
  applicationId: string,
  { served, added }: { readonly served: readonly IndexedFunction[]; readonly added: readonly IndexedFunction[] },
): ClaimedRoute[] {
  const held = new Set(claimedRoutes(applicationId, served).map(({ name }) => name));
  // Versions of earlier releases do not tell their routes: functions that declare the same one keep it.
  const untold = new Set(served.filter(({ route }) => route === undefined).map(declaredRoute));
  return claimedRoutes(
    applicationId,
    added.filter((one) => !untold.has(declaredRoute(one))),
  ).filter(({ name }) => !held.has(name));
}

const declaredRoute = ({ name, triggerType, trigger }: IndexedFunction): string =>
  JSON.stringify([name, triggerType, trigger['route'] ?? null]);

/** Returns all names below `/api/` that collections of these names take, folded, with the collection; undefined for all collections. */
export function takenNames(collections: readonly string[]): ReadonlyMap<string, readonly (string | undefined)[]> {
  const taken = new Map<string, (string | undefined)[]>();
  if (collections.length === 0) return taken;
  for (const shared of sharedRecordsNames) taken.set(shared, [undefined]);
  for (const collection of collections) {
    const name = foldName(collection);
    taken.set(name, [...(taken.get(name) ?? []), collection]);
  }
  return taken;
}

/** Finds the paths that both a collection and a function have. */
export function findClashes(collections: readonly string[], routes: readonly ClaimedRoute[]): RouteClash[] {
  const taken = takenNames(collections);
  return routes.flatMap(({ applicationId, functionName, route, name }) =>
    (taken.get(name) ?? []).map((collection) => ({
      path: `/api/${collection ?? name}`,
      ...(collection !== undefined && { collection }),
      application: applicationId,
      function: functionName,
      route,
    })),
  );
}
