import { accessDenied, type Caller } from '@drover/collection-engine';
import { functionRoutes, type FunctionResponse, type FunctionSpec, type Scope, type TenantId } from '@drover/contracts';
import type { Observe } from '@drover/service-kit';
import type { FunctionDefinition, LocalRequirements, QueueControl } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import { functionUnknown } from '../executions/errors.js';
import { functionNotManaged, functionOfApplication } from '../functions/errors.js';
import type { DiscoveredFunctionSource, StoredFunctionCatalog } from '../functions/stored-function-catalog.js';
import { toFunctionResponse } from './answers/function-response.js';
import type { FunctionPage, FunctionStore } from '../functions/function-store.js';
import type { FunctionObservation } from '../functions/observations.js';
import {
  applyPatch,
  modeOf,
  runsCommand,
  settleSpec,
  specIn,
  type FunctionDefaults,
  type SettledSpec,
} from '../functions/resolve-function.js';

export interface FunctionHandlersOptions {
  readonly store: FunctionStore;
  readonly catalog: Pick<StoredFunctionCatalog, 'changed'>;
  readonly discovered?: DiscoveredFunctionSource | undefined;
  readonly defaults: FunctionDefaults;
  /** Returns why an endpoint may not be called and what to do, or undefined. */
  readonly checkEndpoint?: ((url: string) => Promise<string | undefined>) | undefined;
  /** Returns why a handler cannot run on this host, or undefined. */
  readonly checkLocal?: ((wanted: LocalRequirements) => Promise<string | undefined>) | undefined;
  /** Returns why a valid function cannot run at present, or undefined. */
  readonly degradationOf?: ((definition: FunctionDefinition) => string | undefined) | undefined;
  /** The backend of mode REMOTE, as responses show it. */
  readonly remoteBackend?: string | undefined;
  readonly observe: Observe<FunctionObservation>;
}

const commandScope: Scope = 'functions:commands';
/** Fields of a patch that do not decide what a program does. Its variables do. */
const limitFields: ReadonlySet<string> = new Set([
  'concurrency',
  'concurrencyControl',
  'maxRetries',
  'queueSize',
  'retry',
  'scalingConfig',
  'timeoutMs',
]);
/** How long a list request right after the start waits for the first listing of the runtime. */
const firstListingMs = 3_000;

/** Serves the registry under `/v1/functions`. Reads go to the store, so that every replica shows the same. */
export function functionHandlers(options: FunctionHandlersOptions): RouteHandler[] {
  const { store, catalog, discovered, defaults, checkEndpoint, checkLocal, degradationOf, observe } = options;
  const show = (definition: FunctionDefinition): FunctionResponse => {
    const degradationReason = definition.degradationReason ?? degradationOf?.(definition);
    const shown = degradationReason === undefined ? definition : { ...definition, degradationReason };
    return toFunctionResponse(shown, options.remoteBackend);
  };

  /** Adds the state of their queues to functions of applications, which have no row of their own. */
  const withQueues = async (found: readonly FunctionDefinition[]): Promise<readonly FunctionDefinition[]> => {
    if (found.length === 0) return found;
    const controls = new Map<string, QueueControl>();
    for (const one of await store.findAll(found))
      if ('queueControl' in one) controls.set(one.address.name, one.queueControl);
    return found.map((definition) => {
      const queueControl = controls.get(definition.name);
      return queueControl ? { ...definition, queueControl } : definition;
    });
  };
  const findOrRefuse = async (tenantId: TenantId, name: string): Promise<FunctionDefinition> => {
    const registered = await store.find(tenantId, name);
    if (registered) return registered;
    const [other] = await withQueues([discovered?.find(tenantId, name)].flatMap((one) => one ?? []));
    if (!other) throw functionUnknown({ name });
    return other;
  };
  /** Returns the reason why no registered function matched. */
  const refusal = (tenantId: TenantId, name: string): Error => {
    const other = discovered?.find(tenantId, name);
    return other
      ? functionOfApplication({ name, application: other.discovered?.application ?? '' })
      : functionUnknown({ name });
  };
  const publish = async (definition: FunctionDefinition, change: 'registered' | 'changed'): Promise<void> => {
    const { tenantId, name, generation, revision } = definition;
    await catalog.changed(tenantId, name);
    observe({ kind: 'function.changed', tenantId, name, generation, revision, change });
  };
  const register = async (caller: Caller, body: FunctionSpec): Promise<FunctionResponse> => {
    const { tenantId } = caller;
    const spec = settleSpec(body, defaults);
    refuseCommand(spec, caller);
    await refuseEndpoint(spec, checkEndpoint);
    await refuseHandler(spec, body.env ?? {}, checkLocal);
    const definition = await store.register(tenantId, spec, body.env);
    await publish(definition, 'registered');
    return show(definition);
  };

  return [
    handle(functionRoutes.listFunctions, async ({ caller: { tenantId }, query }) => {
      const [registered] = await Promise.all([store.list(tenantId, query), discovered?.waitForFirst?.(firstListingMs)]);
      const others = discovered ? discoveredPage(discovered.list(tenantId), registered, query) : [];
      const page = [...registered, ...(await withQueues(others))].toSorted(byName).slice(0, query.limit);
      return reply(200, page.map(show));
    }),
    handle(functionRoutes.registerFunction, async ({ caller, body }) => reply(201, await register(caller, body))),
    handle(functionRoutes.getFunction, async ({ caller: { tenantId }, params: { name } }) =>
      reply(200, show(await findOrRefuse(tenantId, name))),
    ),
    handle(functionRoutes.patchFunction, async ({ caller, params: { name }, body }) => {
      const { tenantId } = caller;
      const current = await store.find(tenantId, name);
      if (!current) throw refusal(tenantId, name);
      const change = (stored: SettledSpec): SettledSpec => {
        const changed = applyPatch(stored, body);
        if (Object.keys(body).some((field) => !limitFields.has(field))) refuseCommand(changed, caller);
        return changed;
      };
      // What needs the network or the file system is checked before the function is locked; fields that do not change were checked before.
      const wanted = change(current.spec as SettledSpec); // read from the store
      if ((body.endpointUrl ?? body.executionMode) !== undefined) await refuseEndpoint(wanted, checkEndpoint);
      if ((body.handler ?? body.executionMode ?? body.env) !== undefined)
        await refuseHandler(wanted, { ...current.env, ...body.env }, checkLocal);
      const env = body.env && { values: body.env, isWhole: false };
      const definition = await store.update(tenantId, name, change, env);
      if (!definition) throw refusal(tenantId, name);
      await publish(definition, 'changed');
      return reply(200, show(definition));
    }),
    handle(functionRoutes.replaceFunction, async ({ caller, params: { name }, body }) => {
      const { tenantId } = caller;
      if (body.name !== undefined && body.name !== name)
        throw requestInvalid({
          problem: `body/name is ${body.name}, but the URL names ${name}. A name cannot change.`,
        });
      const wanted = specIn(name, body);
      const spec = settleSpec(wanted, defaults);
      refuseCommand(spec, caller);
      await refuseEndpoint(spec, checkEndpoint);
      await refuseHandler(spec, wanted.env ?? {}, checkLocal);
      const definition = await store.update(tenantId, name, () => spec, { values: wanted.env ?? {}, isWhole: true });
      if (!definition) return reply(201, await register(caller, wanted));
      await publish(definition, 'changed');
      return reply(200, show(definition));
    }),
    handle(functionRoutes.getReplicas, async ({ caller: { tenantId }, params: { name } }) => {
      throw functionNotManaged({ name, mode: (await findOrRefuse(tenantId, name)).mode });
    }),
    handle(functionRoutes.setReplicas, async ({ caller: { tenantId }, params: { name } }) => {
      throw functionNotManaged({ name, mode: (await findOrRefuse(tenantId, name)).mode });
    }),
  ];
}

/** Programs run on the operator's machine, so the right to choose one is granted by itself, whether or not a runner is enabled. */
function refuseCommand(spec: SettledSpec, { scopes }: Caller): void {
  if (runsCommand(spec) && !scopes.includes(commandScope)) throw accessDenied({ scope: commandScope });
}

async function refuseEndpoint(
  spec: SettledSpec,
  checkEndpoint: FunctionHandlersOptions['checkEndpoint'],
): Promise<void> {
  if (spec.endpointUrl === undefined || modeOf(spec).mode !== 'POOL') return;
  const problem = await checkEndpoint?.(spec.endpointUrl);
  if (problem !== undefined) throw requestInvalid({ problem: `endpointUrl is refused: ${problem}` });
}

async function refuseHandler(
  spec: SettledSpec,
  env: Readonly<Record<string, unknown>>,
  checkLocal: FunctionHandlersOptions['checkLocal'],
): Promise<void> {
  if (modeOf(spec).mode !== 'LOCAL') return;
  const { name, handler } = spec;
  const problem = await checkLocal?.({ name, env, ...(handler !== undefined && { handler }) });
  if (problem !== undefined) throw requestInvalid({ problem });
}

/** Returns the functions of applications that may be on a page whose registered functions are known. */
function discoveredPage(
  all: readonly FunctionDefinition[],
  registered: readonly FunctionDefinition[],
  { limit = Number.POSITIVE_INFINITY, after = '' }: FunctionPage,
): readonly FunctionDefinition[] {
  const names = new Set(registered.map(({ name }) => name));
  // Behind a full page of registered ones it is not known which names are taken.
  const last = registered.length < limit ? undefined : registered.at(-1)?.name;
  return all
    .filter(({ name }) => name > after && (last === undefined || name < last) && !names.has(name))
    .toSorted(byName)
    .slice(0, limit);
}

/** Orders by code units, as the database does. */
function byName(a: FunctionDefinition, b: FunctionDefinition): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
