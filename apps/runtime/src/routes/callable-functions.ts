import type { FunctionDefinition } from '../applications/function-definition.js';
import type { RouteTable, TemplatedRoute } from './route-table.js';
import { CallRoute } from './call-route.js';

/** A function as the control plane calls it: whatever its trigger is. */
export interface CallableFunction {
  readonly definition: FunctionDefinition;
  /** In lower case, to be compared. */
  readonly triggerType: string;
  /** Undefined: it is not called over HTTP. */
  readonly route: CallRoute | undefined;
}

/** Functions by their names in lower case. One with an HTTP trigger but without a good route cannot be called at all. */
export function callableFunctions(
  functions: readonly FunctionDefinition[],
  routes: RouteTable,
): ReadonlyMap<string, CallableFunction> {
  const byName = new Map<string, TemplatedRoute>(routes.routes.map((route) => [route.definition.name, route]));
  const callable = new Map<string, CallableFunction>();
  for (const definition of functions) {
    const triggerType = definition.trigger.type.toLowerCase();
    const route = byName.get(definition.name);
    if (triggerType === 'httptrigger' && !route) continue;
    const callRoute = route && new CallRoute(route);
    callable.set(definition.name.toLowerCase(), { definition, triggerType, route: callRoute });
  }
  return callable;
}
