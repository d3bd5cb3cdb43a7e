import { functionRoutes, type FunctionResponse, type Scope, type TenantId } from '@drover/contracts';
import type { Observe } from '@drover/service-kit';
import type { FunctionDefinition, LocalRequirements } from '@drover/dispatchers';
import type { Caller } from '../access/authenticator.js';
import { accessDenied, requestInvalid } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import { functionUnknown } from '../executions/errors.js';
import { functionNotManaged, functionOfApplication } from '../functions/errors.js';
import type { DiscoveredFunctionSource, StoredFunctionCatalog } from '../functions/stored-function-catalog.js';
import { toFunctionResponse } from './answers/function-response.js';
import type { FunctionStore } from '../functions/function-store.js';
import type { FunctionObservation } from '../functions/observations.js';
import {
  modeOf,
  runsCommand,
  settlePatch,
  settleSpec,
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
  /** Called after the removal has reached all listeners of this process; the answer waits for it. */
  readonly onRemoved?: ((definition: FunctionDefinition) => void | Promise<void>) | undefined;
  /** The backend of mode REMOTE, as responses show it. */
  readonly remoteBackend?: string | undefined;
  readonly observe: Observe<FunctionObservation>;
}

const commandScope: Scope = 'functions:commands';
/** How long a list request right after the start waits for the first listing of the runtime. */
const firstListingMs = 3_000;

/** Serves the registry under `/v1/functions`. Reads go to the store, so that every replica shows the same. */
export function functionHandlers(options: FunctionHandlersOptions): RouteHandler[] {
  const { store, catalog, discovered, defaults, checkEndpoint, checkLocal, degradationOf, onRemoved, observe } =
    options;
  const show = (definition: FunctionDefinition): FunctionResponse => {
    const degradationReason = definition.degradationReason ?? degradationOf?.(definition);
    const shown = degradationReason === undefined ? definition : { ...definition, degradationReason };
    return toFunctionResponse(shown, options.remoteBackend);
  };

  const findOrRefuse = async (tenantId: TenantId, name: string): Promise<FunctionDefinition> => {
    const definition = (await store.find(tenantId, name)) ?? discovered?.find(tenantId, name);
    if (!definition) throw functionUnknown({ name });
    return definition;
  };
  /** Returns the reason why no registered function matched. */
  const refusal = (tenantId: TenantId, name: string): Error => {
    const other = discovered?.find(tenantId, name);
    return other
      ? functionOfApplication({ name, application: other.discovered?.application ?? '' })
      : functionUnknown({ name });
  };
  const publish = async (
    definition: FunctionDefinition,
    change: 'registered' | 'changed' | 'removed',
  ): Promise<void> => {
    const { tenantId, name, generation, revision } = definition;
    await catalog.changed(tenantId, name);
    observe({ kind: 'function.changed', tenantId, name, generation, revision, change });
  };

  return [
    handle(functionRoutes.listFunctions, async ({ caller: { tenantId } }) => {
      const [registered] = await Promise.all([store.list(tenantId), discovered?.waitForFirst?.(firstListingMs)]);
      const names = new Set(registered.map(({ name }) => name));
      const others = discovered?.list(tenantId).filter(({ name }) => !names.has(name)) ?? [];
      return reply(200, [...registered, ...others].toSorted(byName).map(show));
    }),
    handle(functionRoutes.registerFunction, async ({ caller, body }) => {
      const { tenantId } = caller;
      const spec = settleSpec(body, defaults);
      refuseCommand(spec, caller);
      await refuseEndpoint(spec, checkEndpoint);
      await refuseHandler(spec, body.env ?? {}, checkLocal);
      const definition = await store.register(tenantId, spec, body.env);
      await publish(definition, 'registered');
      return reply(201, show(definition));
    }),
    handle(functionRoutes.getFunction, async ({ caller: { tenantId }, params: { name } }) =>
      reply(200, show(await findOrRefuse(tenantId, name))),
    ),
    handle(functionRoutes.patchFunction, async ({ caller: { tenantId }, params: { name }, body }) => {
      const definition = await store.patch(tenantId, name, settlePatch(body));
      if (!definition) throw refusal(tenantId, name);
      await publish(definition, 'changed');
      return reply(200, show(definition));
    }),
    handle(functionRoutes.deleteFunction, async ({ caller: { tenantId }, params: { name } }) => {
      const definition = await store.remove(tenantId, name);
      if (!definition) throw refusal(tenantId, name);
      await publish(definition, 'removed');
      try {
        await onRemoved?.(definition);
      } catch (error) {
        // The function is removed and a retry would answer 404, so the failure goes to the log only.
        observe({ kind: 'function.clean-up-failed', tenantId, name, error });
      }
      return reply(204, undefined);
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
  env: Readonly<Record<string, string>>,
  checkLocal: FunctionHandlersOptions['checkLocal'],
): Promise<void> {
  if (modeOf(spec).mode !== 'LOCAL') return;
  const { name, handler } = spec;
  const problem = await checkLocal?.({ name, env, ...(handler !== undefined && { handler }) });
  if (problem !== undefined) throw requestInvalid({ problem });
}

/** Orders by code units, as the database does. */
function byName(a: FunctionDefinition, b: FunctionDefinition): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
