import { createHash } from 'node:crypto';
import { functionNamePattern, type RuntimeListing, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/** Limits of discovered functions whose application does not set them. */
export type DiscoveredFunctionDefaults = Pick<
  FunctionDefinition,
  'timeoutMs' | 'concurrency' | 'queueSize' | 'maxRetries' | 'retry'
>;

/** The discovered functions of one tenant, indexed by every name that calls them. */
export interface DiscoveredNames {
  readonly byName: ReadonlyMap<string, FunctionDefinition>;
  /** Each function once, under its shortest name. */
  readonly listed: readonly FunctionDefinition[];
}

const namePattern = new RegExp(functionNamePattern);

/**
 * Turns the runtime's listing into definitions of all enabled functions, by tenant. A function is called by its own name and
 * by `application.function`; if several applications have a function of that name, the short name belongs to the first.
 * Names that a registered function could not have are left out. Unchanged definitions of `before` are reused as the same
 * objects, so that identity tells listeners what changed.
 */
export function discoveredDefinitions(
  { applications }: RuntimeListing,
  defaults: DiscoveredFunctionDefaults,
  before: ReadonlyMap<string, DiscoveredNames>,
): ReadonlyMap<string, DiscoveredNames> {
  const tenants = new Map<string, TenantNames>();
  for (const { name: owner, functions } of applications) {
    const slash = owner.indexOf('/');
    const tenantId = owner.slice(0, Math.max(0, slash)) as TenantId; // written by our runtime
    const application = owner.slice(slash + 1);
    if (tenantId === '' || application === '') continue;
    const known: TenantNames = tenants.get(tenantId) ?? { byName: new Map(), listed: [] };
    tenants.set(tenantId, known);
    const earlier = before.get(tenantId)?.byName;
    for (const { name, trigger, isDisabled } of functions) {
      if (isDisabled) continue;
      const own = { application, name, trigger };
      const names = [name, `${application}.${name}`].filter((one) => namePattern.test(one) && !known.byName.has(one));
      const definitions = names.map((one) => {
        const kept = earlier?.get(one);
        return kept && isSame(kept, own) ? kept : toDefinition(tenantId, one, own, defaults);
      });
      for (const definition of definitions) known.byName.set(definition.name, definition);
      if (definitions[0]) known.listed.push(definitions[0]);
    }
  }
  return tenants;
}

interface TenantNames extends DiscoveredNames {
  readonly byName: Map<string, FunctionDefinition>;
  readonly listed: FunctionDefinition[];
}

interface Own {
  readonly application: string;
  readonly name: string;
  readonly trigger: string;
}

function isSame({ discovered, appFunction }: FunctionDefinition, own: Own): boolean {
  return (
    discovered?.application === own.application && discovered.trigger === own.trigger && appFunction?.name === own.name
  );
}

function toDefinition(
  tenantId: TenantId,
  name: string,
  { application, name: functionName, trigger }: Own,
  defaults: DiscoveredFunctionDefaults,
): FunctionDefinition {
  return {
    ...defaults,
    tenantId,
    name,
    generation: generationOf(application, functionName),
    revision: 1,
    mode: 'APP',
    requestedMode: 'APP',
    appFunction: { application, name: functionName },
    env: {},
    spec: { name, executionMode: 'APP', appFunction: `${application}/${functionName}` },
    discovered: { application, trigger },
  };
}

/** Stable across restarts and different per application, so that queued work of one function never runs on another. */
function generationOf(application: string, functionName: string): number {
  return createHash('sha256').update(`${application}\n${functionName}`).digest().readUInt32BE() >>> 1;
}
