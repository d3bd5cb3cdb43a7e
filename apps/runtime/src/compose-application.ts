import { availableParallelism } from 'node:os';
import type { Observe } from '@drover/service-kit';
import type { SourceWakeups, TriggerListener, TriggerStores } from '@drover/trigger-sources';
import { ApplicationAdmin } from './admin/application-admin.js';
import type { Checked } from './applications/bindings.js';
import type { FunctionDefinition } from './applications/function-definition.js';
import { LogLevels } from './applications/log-levels.js';
import type { Application } from './applications/read-application.js';
import type { Settings } from './applications/settings.js';
import { compileInputs, type InputPlanner } from './bindings/inputs.js';
import { compileOutputs, type OutputPlanner } from './bindings/outputs.js';
import { describeUnsupported, takesWhole, unsupportedBindings } from './bindings/supported-bindings.js';
import type { RuntimeIo, WorkerSide } from './compose-workers.js';
import type { RuntimeConfig } from './config.js';
import type { ServedApplication } from './deployments/deployed-applications.js';
import type { FunctionIndex } from './deployments/deployed-version.js';
import { demandOf, demandOfSettings, mergeDemands } from './emulators/emulator-demand.js';
import type { EmulatorSupply } from './emulators/emulator-supply.js';
import { CrashSuspects } from './invocations/crash-suspects.js';
import { observeWithLevels, type ObserveLevels } from './invocations/application-log.js';
import { FunctionInvoker } from './invocations/function-invoker.js';
import { InputInvoker } from './invocations/input-invoker.js';
import type { Invoker } from './invocations/invocation-call.js';
import type { FunctionInvocationObservation } from './invocations/invocation-observations.js';
import { InvocationRouter } from './invocations/invocation-router.js';
import { OutputInvoker } from './invocations/output-invoker.js';
import type { PendingOutputs } from './invocations/pending-outputs.js';
import { LeastLoaded } from './invocations/policies/least-loaded.js';
import { RoundRobin } from './invocations/policies/round-robin.js';
import { pooledRandomness } from './invocations/pooled-randomness.js';
import { RetryingInvoker } from './invocations/retrying-invoker.js';
import type { RoutingPolicy } from './invocations/routing-policy.js';
import { WarmUp } from './invocations/warm-up.js';
import { WorkerChoice } from './invocations/worker-choice.js';
import { WorkerMessages } from './invocations/worker-messages.js';
import { JobHost } from './job-hosts/job-host.js';
import { deriveFunctionKeys } from './routes/derived-keys.js';
import { MemoryFunctionKeys } from './routes/function-keys.js';
import { createHttpApplication, type HttpApplication } from './routes/http-application.js';
import { hostVersion } from './specialization/bring-up.js';
import { BindingExtensions, supportedBindings } from './triggers/binding-extensions.js';
import { DeferredListener } from './triggers/deferred-listener.js';
import { deliverTo } from './triggers/deliver.js';
import type { SourceOutages } from './triggers/source-outages.js';
import type { FunctionWorker } from './workers/function-worker.js';

/** As in Azure, separates the state of apps of one name that share a storage account or a database. */
const hostIdSetting = 'AzureFunctionsWebHost__hostid';
/** Upper bound of the retry back-off of messages. */
const maxBackOffMs = 600_000;

const policies: Readonly<Record<RuntimeConfig['routing'], () => RoutingPolicy<FunctionWorker>>> = {
  leastLoaded: () => new LeastLoaded(),
  roundRobin: () => new RoundRobin(),
};

/** What all applications of a runtime share. */
export interface ApplicationParts {
  readonly io: RuntimeIo;
  readonly logs: ObserveLevels<FunctionInvocationObservation>;
  readonly config: RuntimeConfig;
  readonly side: WorkerSide;
  readonly wakeups: SourceWakeups;
  readonly stores: TriggerStores;
  readonly outages: SourceOutages;
  readonly outputs: PendingOutputs;
  /** Undefined: applications use the services that their settings name, and start none. */
  readonly emulators: EmulatorSupply | undefined;
  readonly instanceId: string;
  /** Aborts when the runtime stops: delayed retries are cancelled. */
  readonly stopping: AbortSignal;
}

/** One application while it is composed. */
interface Composing {
  readonly key: string;
  readonly application: Application;
  readonly index: FunctionIndex;
  readonly router: InvocationRouter<FunctionWorker>;
  /** The router of isolated workers. */
  readonly isolated: InvocationRouter<FunctionWorker>;
  readonly extensions: BindingExtensions;
  /** Observes calls with the log levels of host.json. */
  readonly observeCalls: Observe<FunctionInvocationObservation>;
  /** For what does not run. */
  readonly report: (functionName: string, problem: string) => void;
  /** For what runs, but probably not as it was meant. */
  readonly warn: (functionName: string, problem: string) => void;
}

/** Creates the job host of an application, its listeners and its HTTP routes from its files and its indexed functions. */
export function composeApplication(
  key: string,
  application: Application,
  index: FunctionIndex,
  parts: ApplicationParts,
): ServedApplication {
  const { config, io, side, wakeups, stores } = parts;
  const { clock, observe } = io;
  const settings = application.settings.toEnvironment();
  const sources = parts.outages.open(observe);
  const levels = new LogLevels(application.hostJson.logging);
  const composing: Composing = {
    key,
    application,
    index,
    router: new InvocationRouter({ policy: policies[config.routing], clock, maxWaiting: config.maxWaiting }),
    isolated: new InvocationRouter({ policy: policies[config.routing], clock, maxWaiting: config.maxWaiting }),
    extensions: new BindingExtensions({
      ...io,
      observe: sources.observe,
      application: application.settings.get(hostIdSetting)?.trim() || nameOf(key),
      settings,
      host: { ...application.hostJson.extensions, singleton: application.hostJson.singleton },
      cores: availableParallelism(),
      wakeups,
      lockedMessages: side.lockedMessages,
      store: stores.of(settings),
    }),
    observeCalls: observeWithLevels(levels, parts.logs),
    report: (functionName, problem) =>
      observe({ kind: 'application.problem', application: key, problem: `${functionName}: ${problem}` }),
    warn: (functionName, problem) =>
      observe({ kind: 'application.warning', application: key, problem: `${functionName}: ${problem}` }),
  };
  for (const problem of levels.problems) composing.report('host.json', problem);
  const planners = compilePlanners(composing);
  // A function whose bindings cannot be planned must not run: its output would be lost silently.
  const functions = index.functions.filter(({ name }) => planners.outputs.has(name));
  demandEmulators(composing, functions, parts);
  const invoker = composeInvoker(composing, planners, parts);
  const warmUp = composeWarmUp(composing, planners, functions, parts);
  const listeners = composeListeners(composing, functions, invoker, parts);
  const { router, isolated, observeCalls } = composing;
  const extensions = {
    close: async () => {
      await composing.extensions.close();
      sources.close();
    },
  };
  const messages = new WorkerMessages(side.tracker, observeCalls);
  const host = new JobHost({ key, functions, router, isolated, listeners, warmUp, extensions, messages, observe });
  return { host, invoker, application, http: composeHttp(composing, host, functions, invoker, parts) };
}

interface Planners {
  readonly inputs: ReadonlyMap<string, InputPlanner>;
  readonly outputs: ReadonlyMap<string, OutputPlanner>;
}

function compilePlanners({ index, report, warn }: Composing): Planners {
  const inputs = new Map<string, InputPlanner>();
  const outputs = new Map<string, OutputPlanner>();
  for (const definition of index.functions) {
    const { name } = definition;
    const unsupported = unsupportedBindings(definition, supportedBindings);
    const read = compileInputs(definition, unsupported);
    const written = compileOutputs(definition, unsupported, (binding) => takesWhole(binding, supportedBindings));
    if ('problem' in read) report(name, read.problem);
    else if ('problem' in written) report(name, written.problem);
    else {
      inputs.set(name, read.value);
      outputs.set(name, written.value);
    }
    for (const binding of unsupported)
      warn(
        name,
        `${describeUnsupported(binding, supportedBindings)}. The function runs, and fails when it uses the binding`,
      );
  }
  return { inputs, outputs };
}

function composeInvoker(
  { key, application, router, isolated, extensions, observeCalls }: Composing,
  planners: Planners,
  { io, side, outputs, stopping }: ApplicationParts,
  onlyOn?: FunctionWorker,
): Invoker {
  const suspects = new CrashSuspects({
    ...io,
    isolate: (applicationKey) => side.lifecycle.isolate(applicationKey),
    endIsolation: (applicationKey) => side.lifecycle.endIsolation(applicationKey),
  });
  const inner = new FunctionInvoker({
    ...io,
    choice: onlyOn
      ? fixedChoice(onlyOn)
      : new WorkerChoice({ ...io, router, isolated, suspects, failure: () => side.deployments.failureOf(key) }),
    suspects,
    observe: observeCalls,
    tracker: side.tracker,
    // A warm-up ends no worker: after its own time limit the worker takes work.
    timeoutMs: (onlyOn ? undefined : application.hostJson.functionTimeoutMs) ?? Number.POSITIVE_INFINITY,
    onFull: (worker) => side.lifecycle.recordFull(worker),
  });
  const withOutputs = new OutputInvoker({
    ...io,
    inner,
    planners: planners.outputs,
    pending: outputs,
    target: (functionName, { binding, options }) =>
      served(extensions.of('outputs', binding)?.target?.({ functionName, type: binding.type, options })),
  });
  const withInputs = new InputInvoker({
    ...io,
    inner: withOutputs,
    planners: planners.inputs,
    read: (functionName, { binding, options }, signal) =>
      served(extensions.of('inputs', binding)?.read?.({ functionName, type: binding.type, options }, signal)),
  });
  return new RetryingInvoker(withInputs, { ...io, stopping });
}

/** True if the state of triggers is in a database, not in the storage account of the application. */
function hasDatabase({ triggerDatabaseUrl, triggerDatabaseUrlFile }: RuntimeConfig): boolean {
  return triggerDatabaseUrl !== undefined || Boolean(triggerDatabaseUrlFile);
}

/** Emulators that bindings use start at once; those that only settings name, when the applications are served. */
function demandEmulators(
  { application: { settings, defaultSettings } }: Composing,
  functions: readonly FunctionDefinition[],
  { emulators, config }: ApplicationParts,
): void {
  if (!emulators) return;
  const state = { hasDatabase: hasDatabase(config) };
  const ofBindings = functions.flatMap((definition) => demandOf(definition, settings, state));
  const ofSettings = demandOfSettings(settings, defaultSettings);
  if (ofBindings.length > 0) emulators.demand(mergeDemands([...ofBindings, ...ofSettings]));
  else emulators.demandLater(ofSettings);
}

function fixedChoice(worker: FunctionWorker): Pick<WorkerChoice, 'reserve' | 'choose'> {
  const chosen = { worker, release: () => undefined };
  return { reserve: () => chosen, choose: () => Promise.resolve(chosen) };
}

function composeWarmUp(
  composing: Composing,
  planners: Planners,
  functions: readonly FunctionDefinition[],
  parts: ApplicationParts,
): WarmUp | undefined {
  const isWarmup = ({ trigger, isDisabled }: FunctionDefinition): boolean =>
    trigger.type.toLowerCase() === 'warmuptrigger' && !isDisabled;
  const definition = functions.find(isWarmup);
  return (
    definition &&
    new WarmUp({
      ...parts.io,
      definition,
      invokerOn: (worker) => composeInvoker(composing, planners, parts, worker),
      withinMs: parts.config.startTimeoutMs,
      warn: (problem) => composing.warn(definition.name, problem),
    })
  );
}

function composeListeners(
  { extensions, report, application: { settings } }: Composing,
  functions: readonly FunctionDefinition[],
  invoker: Invoker,
  { io, emulators, config }: ApplicationParts,
): readonly TriggerListener[] {
  const state = { hasDatabase: hasDatabase(config) };
  const listeners: TriggerListener[] = [];
  const randomness = pooledRandomness(io.randomness); // for the trace ids of each delivery
  for (const definition of functions) {
    const { name: functionName, trigger, isDisabled } = definition;
    if (isDisabled) continue;
    try {
      const prepared = extensions
        .of('triggers', trigger)
        ?.prepare?.({ functionName, type: trigger.type, options: trigger.options });
      if (!prepared) continue;
      const { unknownKeys, retryBackOffMs: backOffMs } = prepared;
      if (unknownKeys.length > 0)
        report(functionName, `its trigger has unknown options, which are ignored: ${unknownKeys.join(', ')}`);
      const listener = prepared.listen(deliverTo(definition, { ...io, randomness, invoker, backOffMs, maxBackOffMs }));
      const demanded = demandOf(definition, settings, state);
      listeners.push(
        emulators && demanded.length > 0
          ? new DeferredListener(listener, (signal) => emulators.untilReady(demanded, signal))
          : listener,
      );
    } catch (error) {
      report(functionName, error instanceof Error ? error.message : String(error));
    }
  }
  return listeners;
}

/** Bindings without an extension were refused when the application was read. */
function served<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a binding has no extension');
  return value;
}

function composeHttp(
  { key, application, index, router, extensions, report, warn }: Composing,
  host: JobHost,
  functions: readonly FunctionDefinition[],
  invoker: Invoker,
  { config, side, io: { clock, randomness }, instanceId }: ApplicationParts,
): HttpApplication {
  const name = nameOf(key);
  const masterKey = config.masterKey?.reveal() ?? randomness.bytes(32).toString('base64url');
  const functionNames = functions.map((definition) => definition.name);
  const webhooks = extensions.webhooks();
  const workers = (): FunctionWorker[] => side.registry.all().filter((worker) => worker.jobHostKey === key);
  const startedMs = clock.monotonicMs();
  const bodyLimit = readBodyLimit(application.settings);
  if ('problem' in bodyLimit) warn('local.settings.json', bodyLimit.problem);
  const {
    application: http,
    problems,
    warnings,
  } = createHttpApplication({
    name,
    functions,
    options: application.hostJson.extensions.http,
    invoker,
    keys: new MemoryFunctionKeys(deriveFunctionKeys(masterKey, name, functionNames, [...webhooks.keys()])),
    requiresKeys: config.masterKey !== undefined && config.functionKeys === 'on',
    readyInMs: () => side.deployments.readyInMs(host),
    cors: application.local.cors,
    bodyLimitBytes: 'value' in bodyLimit ? bodyLimit.value : undefined,
    streamsHttp: cachedBy(
      () => router.revision,
      () => workers().some((worker) => worker.can('HttpUri')),
    ),
    webhooks,
    admin: new ApplicationAdmin({
      host,
      problems: index.problems,
      invoker,
      version: hostVersion,
      instanceId,
      uptimeMs: () => clock.monotonicMs() - startedMs,
      outstanding: () => workers().reduce((sum, worker) => sum + side.tracker.countOf(worker.id), 0),
      restart: () => side.lifecycle.recycleAllOf(key, 'restart-asked'),
    }),
  });
  for (const { functionName, problem } of problems) report(functionName, problem);
  for (const { functionName, problem } of warnings) warn(functionName, problem);
  return http;
}

/** Job host keys are `applicationId:metadataVersion`. */
function nameOf(key: string): string {
  const [name = key] = key.split(':');
  return name;
}

const bodyLimitSetting = 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT';

/** Returns undefined if the application has no limit of its own. */
function readBodyLimit(settings: Settings): Checked<number | undefined> {
  const text = settings.get(bodyLimitSetting)?.trim();
  if (text === undefined || text === '') return { value: undefined };
  const bytes = /^\d+$/.test(text) ? Number(text) : 0;
  if (bytes > 0 && Number.isSafeInteger(bytes)) return { value: bytes };
  return { problem: `${bodyLimitSetting} must be a number of bytes, not ${JSON.stringify(text)}; it is ignored` };
}

/** Caches a value until the revision changes: it is read for every request. */
function cachedBy<T>(revision: () => number, compute: () => T): () => T {
  let cached: { readonly at: number; readonly value: T } | undefined;
  return () => {
    const at = revision();
    if (cached?.at !== at) cached = { at, value: compute() };
    return cached.value;
  };
}
