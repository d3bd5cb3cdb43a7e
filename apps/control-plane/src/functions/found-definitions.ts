import { createHash } from 'node:crypto';
import { functionNamePattern, type RuntimeListing, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/** What functions of applications have where their application says nothing about it. */
export type FoundFunctionDefaults = Pick<
  FunctionDefinition,
  'timeoutMs' | 'concurrency' | 'queueSize' | 'maxRetries' | 'retry'
>;

/** Functions of one tenant, by every name they can be called by. */
export interface FoundNames {
  readonly byName: ReadonlyMap<string, FunctionDefinition>;
  /** Each function once, under its shortest name. */
  readonly listed: readonly FunctionDefinition[];
}

const namePattern = new RegExp(functionNamePattern);

/**
 * Definitions of all enabled functions of a listing, by tenant. A function is called by its own name, and by
 * `application.function` where several applications have one of that name: the own name then belongs to the first of them.
 * A name that no registered function could have is not one here either. Definitions that stay the same are taken over
 * from `before`, as the very same objects.
 */
export function foundDefinitions(
  { applications }: RuntimeListing,
  defaults: FoundFunctionDefaults,
  before: ReadonlyMap<string, FoundNames>,
): ReadonlyMap<string, FoundNames> {
  const tenants = new Map<string, TenantNames>();
  for (const { name: owner, functions } of applications) {
    const slash = owner.indexOf('/');
    const tenantId = owner.slice(0, Math.max(0, slash)) as TenantId; // said by our runtime, which has it from us
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

interface TenantNames extends FoundNames {
  readonly byName: Map<string, FunctionDefinition>;
  readonly listed: FunctionDefinition[];
}

interface Own {
  readonly application: string;
  readonly name: string;
  readonly trigger: string;
}

function isSame({ found, appFunction }: FunctionDefinition, own: Own): boolean {
  return found?.application === own.application && found.trigger === own.trigger && appFunction?.name === own.name;
}

function toDefinition(
  tenantId: TenantId,
  name: string,
  { application, name: functionName, trigger }: Own,
  defaults: FoundFunctionDefaults,
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
    found: { application, trigger },
  };
}

/** The same after every start, and another one for a function of another application: what waits for one never runs on the other. */
function generationOf(application: string, functionName: string): number {
  return createHash('sha256').update(`${application}\n${functionName}`).digest().readUInt32BE() >>> 1;
}
