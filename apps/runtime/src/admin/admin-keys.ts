import type { RuntimeKeyedFunction, RuntimeKeys } from '@drover/contracts';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { shownTriggerType } from '../applications/trigger-types.js';
import { functionKeyRequired } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { writeJson } from '../exchanges/write-answer.js';
import type { KeyOwner } from '../routes/function-keys.js';
import type { HttpApplication } from '../routes/http-application.js';
import { mayAdminister } from './admin-access.js';
import { reachedRoute } from './reached-route.js';

/** Serves all functions with their paths and keys, for requests with the master key. */
export function serveAdminKeys(
  exchange: Exchange,
  applications: readonly HttpApplication[],
  key: string | undefined,
): void {
  exchange.functionName = 'admin';
  const own = applications.filter((application) => mayAdminister(application, exchange.request, key));
  if (own.length === 0 && applications.length > 0) throw new Refused(functionKeyRequired({}));
  const listing: RuntimeKeys = {
    applications: own.map((application) => ({
      name: application.name,
      requiresKeys: application.requiresKeys,
      hostKeys: keysOf(application, { kind: 'host' }),
      functions: (application.admin?.functions() ?? []).map((definition) =>
        describe(definition, application, applications),
      ),
    })),
  };
  writeJson(exchange, 200, listing);
}

function describe(
  { name, trigger, isDisabled }: FunctionDefinition,
  application: HttpApplication,
  applications: readonly HttpApplication[],
): RuntimeKeyedFunction {
  const route = reachedRoute(name, application, applications);
  return {
    name,
    trigger: shownTriggerType(trigger.type),
    isDisabled,
    http: route && { path: route.path, methods: [...(route.methods ?? [])], authLevel: route.authLevel },
    keys: route ? keysOf(application, { kind: 'function', name }) : [],
  };
}

function keysOf({ keys }: HttpApplication, owner: KeyOwner): { readonly name: string; readonly value: string }[] {
  return keys.list(owner).map(({ name, value }) => ({ name, value: value.reveal() }));
}
