import { availableParallelism } from 'node:os';
import type { Observe } from '@drover/service-kit';
import type {
  NotificationEndpoints,
  SourceWakeups,
  TriggerSourceObservation,
  TriggerStores,
  WarmNamespaces,
} from '@drover/trigger-sources';
import { applicationNameOf, tenantOf } from './applications/application-key.js';
import type { FunctionDefinition } from './applications/function-definition.js';
import { LogLevels } from './applications/log-levels.js';
import type { Application } from './applications/read-application.js';
import { compileInputs, type InputPlanner } from './bindings/inputs.js';
import { compileOutputs, type OutputPlanner } from './bindings/outputs.js';
import { describeUnsupported, takesWhole, unsupportedBindings } from './bindings/supported-bindings.js';
import { composeHttp, type HttpFront } from './compose-http.js';
import type { RuntimeIo, WorkerSide } from './compose-workers.js';
import type { RuntimeConfig } from './config.js';
import type { FunctionIndex, JobHostHooks } from './deployments/deployed-version.js';
import type { ServedApplication } from './deployments/served-applications.js';
import { demandOf, demandOfSettings, mergeDemands } from './emulators/emulator-demand.js';
import type { EmulatorSupply } from './emulators/emulator-supply.js';
import { CrashSuspects } from './invocations/crash-suspects.js';
import { observeWithLevels, type ObserveLevels } from './invocations/application-log.js';
import { FunctionInvoker } from './invocations/function-invoker.js';
import { InputInvoker } from './invocations/input-invoker.js';
import type { Invoker } from './invocations/invocation-call.js';
import type { FunctionInvocationObservation } from './invocations/invocation-observations.js';
import { InvocationRouter } from './invocations/invocation-router.js';
import { PacedCalls } from './invocations/paced-calls.js';
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
import { JobHost, type HostedTrigger } from './job-hosts/job-host.js';
import type { RuntimeRecords } from './records/runtime-records.js';
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
  /** Connections to emulators that tell about work. */
  readonly notificationEndpoints: NotificationEndpoints;
  /** Connections that were opened ahead for parked applications. */
  readonly warmNamespaces: WarmNamespaces;
  readonly stores: TriggerStores;
  /** Undefined: this runtime has no database. */
  readonly records: RuntimeRecords | undefined;
  readonly outages: SourceOutages;
  readonly outputs: PendingOutputs;
  /** Undefined: applications use the services that their settings name, and start none. */
  readonly emulators: EmulatorSupply | undefined;
  readonly instanceId: string;
  /** Aborts when the runtime stops: delayed retries are cancelled. */
  readonly stopping: AbortSignal;
}

type Reports = Pick<HttpFront, 'report' | 'warn'>;

/** One application while it is composed. */
interface Composing extends Reports {
  readonly key: string;
  readonly application: Application;
  readonly index: FunctionIndex;
  /** Undefined: its job host stays open as long as it is deployed. */
  readonly hooks: JobHostHooks | undefined;
  readonly router: InvocationRouter<FunctionWorker>;
  /** The router of isolated workers. */
  readonly isolated: InvocationRouter<FunctionWorker>;
  readonly extensions: BindingExtensions;
  /** Observes calls with the log levels of host.json. */
  readonly observeCalls: Observe<FunctionInvocationObservation>;
}

/** Creates the job host of an application, its listeners and its HTTP routes from its files and its indexed functions. */
export function composeApplication(
  key: string,
  application: Application,
  index: FunctionIndex,
  parts: ApplicationParts,
  hooks?: JobHostHooks,
): ServedApplication {
  const { config, io, side } = parts;
  const { clock, observe } = io;
  const sources = parts.outages.open(observe);
  const levels = new LogLevels(application.hostJson.logging);
  const composing: Composing = {
    key,
    application,
    index,
    hooks,
    router: new InvocationRouter({ policy: policies[config.routing], clock, maxWaiting: config.maxWaiting }),
    isolated: new InvocationRouter({ policy: policies[config.routing], clock, maxWaiting: config.maxWaiting }),
    extensions: extensionsOf(key, application, parts, sources.observe),
    observeCalls: observeWithLevels(levels, parts.logs),
    // The problems of a hosted application were reported with its routes; its job host is opened many times.
    ...(hooks ? silent : reportsOf(key, io)),
  };
  for (const problem of levels.problems) composing.report('host.json', problem);
  const planners = compilePlanners(composing);
  // A function whose bindings cannot be planned must not run: its output would be lost silently.
  const functions = index.functions.filter(({ name }) => planners.outputs.has(name));
  demandEmulators(application, functions, parts);
  const invoker = composeInvoker(composing, planners, parts);
  const warmUp = composeWarmUp(composing, planners, functions, parts);
  const triggers = composeListeners(composing, functions, invoker, parts);
  const { router, isolated, observeCalls } = composing;
  const extensions = {
    close: async () => {
      await composing.extensions.close();
      sources.close();
    },
  };
  const messages = new WorkerMessages(side.tracker, observeCalls);
  if (hooks)
    router.onChange(() => {
      // As with one host per worker in Azure, the limits of host.json hold for each worker.
      for (const { listener } of triggers) listener.scale?.(Math.max(1, router.size));
      hooks.onWorkers(router);
    });
  const host = new JobHost({ key, functions, router, isolated, triggers, warmUp, extensions, messages, observe });
  const webhooks = composing.extensions.webhooks();
  const front = {
    key,
    application,
    functions,
    problems: index.problems,
    host,
    invoker,
    webhooks,
    revision: () => router.revision,
    readyInMs: () => side.deployments.readyInMs(host),
    report: composing.report,
    warn: composing.warn,
  };
  return { host, invoker, application, webhooks, http: hooks?.http ?? composeHttp(front, parts) };
}

/** Returns the binding extensions of an application; the caller closes them. */
export function extensionsOf(
  key: string,
  { settings, hostJson }: Application,
  {
    io,
    wakeups,
    notificationEndpoints,
    warmNamespaces,
    stores,
    records,
    side,
  }: Pick<
    ApplicationParts,
    'io' | 'wakeups' | 'notificationEndpoints' | 'warmNamespaces' | 'stores' | 'records' | 'side'
  >,
  observe: Observe<TriggerSourceObservation>,
): BindingExtensions {
  const values = settings.toEnvironment();
  return new BindingExtensions({
    ...io,
    observe,
    application: settings.get(hostIdSetting)?.trim() || applicationNameOf(key),
    settings: values,
    host: { ...hostJson.extensions, singleton: hostJson.singleton },
    cores: availableParallelism(),
    wakeups,
    notificationEndpoints,
    warmNamespaces,
    lockedMessages: side.lockedMessages,
    store: stores.of(values),
    records: records?.of(tenantOf(key)),
  });
}

const silent: Reports = { report: () => undefined, warn: () => undefined };

export function reportsOf(key: string, { observe }: Pick<RuntimeIo, 'observe'>): Reports {
  return {
    report: (functionName, problem) =>
      observe({ kind: 'application.problem', application: key, problem: `${functionName}: ${problem}` }),
    warn: (functionName, problem) =>
      observe({ kind: 'application.warning', application: key, problem: `${functionName}: ${problem}` }),
  };
}

interface Planners {
  readonly inputs: ReadonlyMap<string, InputPlanner>;
  readonly outputs: ReadonlyMap<string, OutputPlanner>;
}

export function compilePlanners({ index, report, warn }: Pick<Composing, 'index' | 'report' | 'warn'>): Planners {
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
  { key, application, hooks, router, isolated, extensions, observeCalls }: Composing,
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
      : new WorkerChoice({
          ...io,
          router,
          isolated,
          suspects,
          failure: hooks?.failure ?? (() => side.deployments.failureOf(key)),
          onWaiting: hooks?.onWaiting,
        }),
    suspects,
    paced: new PacedCalls({ ...io, router }),
    observe: observeCalls,
    tracker: side.tracker,
    meter: onlyOn ? undefined : hooks?.meter,
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
export function demandEmulators(
  { settings, defaultSettings }: Pick<Application, 'settings' | 'defaultSettings'>,
  functions: readonly FunctionDefinition[],
  { emulators, config }: Pick<ApplicationParts, 'emulators' | 'config'>,
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
): readonly HostedTrigger[] {
  const state = { hasDatabase: hasDatabase(config) };
  const triggers: HostedTrigger[] = [];
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
      triggers.push({
        functionName,
        type: trigger.type,
        listener:
          emulators && demanded.length > 0
            ? new DeferredListener(listener, (signal) => emulators.untilReady(demanded, signal))
            : listener,
      });
    } catch (error) {
      report(functionName, error instanceof Error ? error.message : String(error));
    }
  }
  return triggers;
}

/** Bindings without an extension were refused when the application was read. */
function served<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a binding has no extension');
  return value;
}
