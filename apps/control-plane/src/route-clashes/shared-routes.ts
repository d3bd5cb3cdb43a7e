import type { IndexedFunction, RouteClash } from '@drover/contracts';

/** A function with a route, whatever its first segments are. */
export interface RoutedFunction {
  readonly applicationId: string;
  readonly functionName: string;
  /** With parameters: `api/orders/{id}`. */
  readonly route: string;
  /** In upper case; undefined: all methods. */
  readonly methods: readonly string[] | undefined;
}

/** Returns the functions that answer at a route. */
export function routedFunctions(applicationId: string, functions: readonly IndexedFunction[]): RoutedFunction[] {
  return functions.flatMap(({ name: functionName, isDisabled, route, trigger }) =>
    !route || isDisabled
      ? []
      : [{ applicationId, functionName, route: route.path, methods: methodsOf(trigger['methods']) }],
  );
}

/** Reads the declared methods of a trigger. */
export function methodsOf(declared: unknown): readonly string[] | undefined {
  const methods = Array.isArray(declared) ? declared.filter((method) => typeof method === 'string') : [];
  return methods.length === 0 ? undefined : methods.map((method) => method.toUpperCase());
}

/** Returns the routes of an application that it does not serve yet. */
export function addedRoutes(served: readonly RoutedFunction[], added: readonly RoutedFunction[]): RoutedFunction[] {
  return added.filter((route) => !served.some((one) => isShared(one, route)));
}

/** Finds routes that functions of two applications have with the same methods: only one of them would ever be called. */
export function findSharedRoutes(routes: readonly RoutedFunction[], others: readonly RoutedFunction[]): RouteClash[] {
  const byShape = new Map<string, RoutedFunction[]>();
  for (const other of others) {
    const shape = shapeOf(other.route);
    const same = byShape.get(shape);
    if (same) same.push(other);
    else byShape.set(shape, [other]);
  }
  return routes.flatMap((one) =>
    (byShape.get(shapeOf(one.route)) ?? [])
      .filter((other) => other.applicationId !== one.applicationId && isShared(one, other))
      .map((other) => ({
        path: `/${one.route}`,
        application: one.applicationId,
        function: one.functionName,
        route: one.route,
        otherApplication: other.applicationId,
        otherFunction: other.functionName,
      })),
  );
}

function isShared(one: RoutedFunction, other: RoutedFunction): boolean {
  if (shapeOf(one.route) !== shapeOf(other.route)) return false;
  const { methods } = other;
  return one.methods === undefined || methods === undefined || one.methods.some((method) => methods.includes(method));
}

/** Routes match in any case, and whatever their parameters are called; constraints make different routes. */
function shapeOf(route: string): string {
  return route.toLowerCase().replaceAll(/\{(\**)[^{}:?=*]*([^{}]*)\}/g, '{$1$2}');
}
