import type { FunctionDefinition } from '../applications/function-definition.js';
import type { RouteTable, TemplatedRoute } from './route-table.js';
import { CallRoute } from './call-route.js';

/** A function that the control plane can call, with any trigger. */
export interface CallableFunction {
  readonly definition: FunctionDefinition;
  /** In lower case, for comparisons. */
  readonly triggerType: string;
  /** Undefined without an HTTP trigger. */
  readonly route: CallRoute | undefined;
}

/** Returns the callable functions by lower-case name. A function with an HTTP trigger needs a valid route. */
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
