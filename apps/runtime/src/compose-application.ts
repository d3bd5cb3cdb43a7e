import type { Clock, Randomness } from '@drover/service-kit';
import type { QueueWakeups, TriggerListener } from '@drover/trigger-sources';
import type { FunctionDefinition } from './applications/function-definition.js';
import type { Application } from './applications/read-application.js';
import { compileOutputs, type OutputPlanner } from './bindings/outputs.js';
import type { SupportedBindings } from './bindings/supported-bindings.js';
import type { WorkerSide } from './compose-workers.js';
import type { RuntimeConfig } from './config.js';
import type { FunctionIndex } from './deployments/deployed-version.js';
import type { InvocationCall, Invoker } from './invocations/invocation-call.js';
import { FunctionInvoker } from './invocations/function-invoker.js';
import { InvocationRouter } from './invocations/invocation-router.js';
import { OutputInvoker } from './invocations/output-invoker.js';
import { LeastLoaded } from './invocations/policies/least-loaded.js';
import { RoundRobin } from './invocations/policies/round-robin.js';
import { RetryingInvoker } from './invocations/retrying-invoker.js';
import type { RoutingPolicy } from './invocations/routing-policy.js';
import { ApplicationAdmin } from './admin/application-admin.js';
import { deriveFunctionKeys } from './routes/derived-keys.js';
import { MemoryFunctionKeys } from './routes/function-keys.js';
import { createHttpApplication, type HttpApplication } from './routes/http-application.js';
import { JobHost } from './job-hosts/job-host.js';
import type { RuntimeObservation } from './observations.js';
import { hostVersion } from './specialization/bring-up.js';
import { deliverTo } from './triggers/deliver.js';
import { QueueBindings } from './triggers/queue-bindings.js';
import type { FunctionWorker } from './workers/function-worker.js';

/** What this runtime can listen to and write to. */
export const supportedBindings: SupportedBindings = {
  triggers: new Set(['httpTrigger', 'queueTrigger']),
  outputs: new Set(['http', 'queue']),
};

/** Where redelivery of a failed message is put off and the app says nothing: longer each time. */
const maxBackOffMs = 600_000;

export interface ApplicationParts {
  readonly config: RuntimeConfig;
  readonly side: () => WorkerSide;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: (observation: RuntimeObservation) => void;
  readonly wakeups: QueueWakeups;
  readonly instanceId: string;
  /** Replaces all workers of a job host. */
  readonly restart: (jobHostKey: string) => void;
  /** Aborts when the runtime stops: retries that wait are given up. */
  readonly stopping: AbortSignal;
}

/** An application that is served: its job host, and what calls its functions. */
export interface ServedApplication {
  readonly host: JobHost;
  readonly invoker: Invoker;
  readonly application: Application;
  readonly http: HttpApplication;
}

/** Builds the job host of an application from what its files and its functions say. */
export function composeApplication(
  key: string,
  application: Application,
  index: FunctionIndex,
  parts: ApplicationParts,
): ServedApplication {
  const { config, clock, randomness, observe, wakeups, stopping } = parts;
  const { hostJson, settings, rawHostJson } = application;
  const side = parts.side();
  const problem = (definition: FunctionDefinition, text: string): void =>
    observe({ kind: 'application.problem', application: key, problem: `${definition.name}: ${text}` });
  const router = new InvocationRouter<FunctionWorker>({
    policy: policies[config.routing],
    clock,
    maxWaiting: config.maxWaiting,
  });
  const queues = new QueueBindings({
    settings: settings.toEnvironment(),
    hostJson: extensionOf(rawHostJson, 'queues'),
    clock,
    randomness,
    observe,
    wakeups,
  });
  const planners = plannersOf(index.functions, problem);
  // One whose outputs cannot be written must not run: what it puts there would be lost without a word.
  const functions = index.functions.filter(({ name }) => planners.has(name));
  const invoker = new RetryingInvoker(
    new OutputInvoker({
      inner: new FunctionInvoker({
        router,
        tracker: side.tracker,
        clock,
        randomness,
        timeoutMs: hostJson.functionTimeoutMs ?? Number.POSITIVE_INFINITY,
        observer: observerOf(observe),
        onFull: (worker) => side.lifecycle.noteFull(worker),
      }),
      planners,
      target: (functionName, plan) => queues.target(functionName, plan),
      clock,
      randomness,
      observe,
    }),
    { clock, randomness, stopping },
  );
  const listeners: TriggerListener[] = [];
  for (const definition of functions) {
    if (definition.isDisabled || definition.trigger.type.toLowerCase() !== 'queuetrigger') continue;
    try {
      const options = queues.optionsOf(definition);
      if (options.unknownKeys.length > 0)
        problem(definition, `its trigger has options that nobody reads: ${options.unknownKeys.join(', ')}`);
      const { retryBackOffMs: backOffMs } = options;
      const deliver = deliverTo(definition, { invoker, clock, randomness, observe, backOffMs, maxBackOffMs });
      listeners.push(queues.listen(definition, options, deliver));
    } catch (error) {
      problem(definition, error instanceof Error ? error.message : String(error));
    }
  }
  const host = new JobHost({ key, functions, router, listeners, messages: side.messages, observe });
  const startedMs = clock.monotonicMs();
  const [tenantAndApplication = key] = key.split(':');
  const names = functions.map(({ name }) => name);
  const workers = (): FunctionWorker[] => side.registry.all().filter((worker) => worker.jobHostKey === key);
  const masterKey = config.masterKey?.reveal() ?? randomness.bytes(32).toString('base64url');
  const { application: http, problems } = createHttpApplication({
    name: tenantAndApplication,
    functions,
    options: hostJson.extensions.http,
    invoker,
    keys: new MemoryFunctionKeys(deriveFunctionKeys(masterKey, tenantAndApplication, names)),
    requiresKeys: config.masterKey !== undefined,
    cors: application.local.cors,
    streamsHttp: untilChanged(
      () => router.revision,
      () => workers().some((worker) => worker.can('HttpUri')),
    ),
    admin: new ApplicationAdmin({
      host,
      problems: index.problems,
      invoker,
      version: hostVersion,
      instanceId: parts.instanceId,
      uptimeMs: () => clock.monotonicMs() - startedMs,
      outstanding: () => workers().reduce((sum, worker) => sum + side.tracker.countOf(worker.id), 0),
      restart: () => parts.restart(key),
    }),
  });
  for (const { functionName, problem: text } of problems)
    observe({ kind: 'application.problem', application: key, problem: `${functionName}: ${text}` });
  return { host, invoker, application, http };
}

const policies: Readonly<Record<RuntimeConfig['routing'], () => RoutingPolicy<FunctionWorker>>> = {
  leastLoaded: () => new LeastLoaded(),
  roundRobin: () => new RoundRobin(),
};

function plannersOf(
  functions: readonly FunctionDefinition[],
  problem: (definition: FunctionDefinition, text: string) => void,
): Map<string, OutputPlanner> {
  const planners = new Map<string, OutputPlanner>();
  for (const definition of functions) {
    const compiled = compileOutputs(definition);
    if ('value' in compiled) planners.set(definition.name, compiled.value);
    else problem(definition, compiled.problem);
  }
  return planners;
}

function observerOf(observe: ApplicationParts['observe']) {
  return {
    onRouted: ({ definition }: InvocationCall, invocationId: string, workerId: string) =>
      observe({ kind: 'invocation.routed', function: definition.name, invocationId, workerId }),
    onEnded: ({ definition }: InvocationCall, outcome: Awaited<ReturnType<Invoker['invoke']>>, durationMs: number) =>
      observe({
        kind: 'invocation.ended',
        function: definition.name,
        invocationId: outcome.invocationId,
        outcome: outcome.kind,
        code: outcome.kind === 'failed' ? outcome.error.code : undefined,
        durationMs,
      }),
    onCrowded: ({ definition }: InvocationCall, isRefused: boolean) =>
      observe({ kind: 'invocation.crowded', function: definition.name, isRefused }),
  };
}

/** Asked for every request, and the same until the workers change. */
function untilChanged<T>(revision: () => number, compute: () => T): () => T {
  let known: { readonly at: number; readonly value: T } | undefined;
  return () => {
    const at = revision();
    if (known?.at !== at) known = { at, value: compute() };
    return known.value;
  };
}

/** Names of host.json are compared without regard to case. */
function extensionOf(rawHostJson: unknown, name: string): unknown {
  return entryOf(entryOf(rawHostJson, 'extensions'), name);
}

function entryOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
