import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ConnectionChannel } from '@drover/http-edge';
import {
  parseWorkerCommand,
  withFilesFrom,
  withoutPlatformVariables,
  type WorkerCommand,
} from '@drover/instance-provider';
import {
  createObserve,
  inOrder,
  isLoopback,
  Leash,
  Secret,
  sleep,
  step,
  type Lifecycle,
  type Composition,
  type Environment,
  type Observe,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import {
  NotificationEndpoints,
  SourceWakeups,
  TriggerStores,
  WarmNamespaces,
  type TriggerSourceObservation,
} from '@drover/trigger-sources';
import { functionLines } from './admin/function-lines.js';
import { storedAuthority } from './certificates/stored-authority.js';
import { composeApplication, type ApplicationParts } from './compose-application.js';
import { composeDeployed, composeFolders, defaultSettings } from './compose-deployments.js';
import { composeHosting } from './compose-hosting.js';
import { composeIndexer } from './compose-indexing.js';
import { composeScaleLink, serveScaleLink } from './compose-link.js';
import {
  admitWorkers,
  composeRecovery,
  composeWorkerEndpoint,
  composeWorkers,
  type RuntimeIo,
  type WorkerEndpoint,
  type WorkerSide,
} from './compose-workers.js';
import { parseRuntimeConfig, type RuntimeConfig } from './config.js';
import { composeEmulators, type DemandEmulators } from './compose-emulators.js';
import type { EmulatorSupply } from './emulators/emulator-supply.js';
import type { DeployedApplications } from './deployments/deployed-applications.js';
import { ServedApplications, type ServedApplication } from './deployments/served-applications.js';
import { FunctionsHttpServer } from './functions-http/functions-http-server.js';
import { functionsPortLimits, type FunctionsPortLimits } from './functions-http/http-limits.js';
import { RuntimeApplications } from './hosting/runtime-applications.js';
import type { ApplicationIndexer } from './indexing/application-indexer.js';
import { RuntimeRecords } from './records/runtime-records.js';
import { PendingOutputs } from './invocations/pending-outputs.js';
import type { ObserveLevels } from './invocations/application-log.js';
import { runtimeReaders, type RuntimeObservation, type RuntimeObserve } from './observations.js';
import { installedNodeWorker } from './processes/worker-command.js';
import type { RpcListeners } from './rpc/rpc-listeners.js';
import { WorkerProcesses } from './processes/worker-processes.js';
import { SourceOutages } from './triggers/source-outages.js';
import { WorkerShutdown } from './worker-lifecycle/worker-shutdown.js';
import { defaultPressureLimits, MemoryGuard } from './workers/memory-pressure.js';

const memoryEveryMs = 10_000;
/** How long a trigger waits for the file with the URL of the database before it reports an outage, and how often it looks. */
const databaseWithinMs = 20_000;
const filePollMs = 50;
const mebibyte = 1_048_576;

/** A runtime and its served applications, by job host key. */
export interface RuntimeComposition extends Composition {
  readonly served: ReadonlyMap<string, ServedApplication>;
}

/** The composition root of the runtime. Long, because it reads from top to bottom: every argument exists before its use. */
export function composeRuntime(
  { environment, ...config }: RuntimeProcessConfig,
  { sinks, health, clock, randomness }: ProcessIo,
  { connections, demandEmulators }: RuntimeSurroundings = {},
): RuntimeComposition {
  const logs = composeObserve(config, environment, sinks);
  const io: RuntimeIo = { clock, randomness, observe: logs.observe };
  const leash = new Leash();
  const stopping = new AbortController();
  const endpoint = composeWorkerEndpoint(config, io, authorityOf(config));
  const processes = composeProcesses(config, io, endpoint, leash);
  const link = composeScaleLink(config, io, endpoint);
  const control = link?.workers ?? processes;
  const side = composeWorkers(config, io, endpoint, control);
  const folders = composeFolders(config, io, side, environment);
  const emulators = composeEmulators({ environment, leash, io, demand: demandEmulators });
  const outages = new SourceOutages();
  const databaseUrl = databaseUrlOf(config, clock);
  const shared: ApplicationParts = {
    io,
    logs,
    config,
    side,
    wakeups: new SourceWakeups(),
    notificationEndpoints: new NotificationEndpoints(io),
    warmNamespaces: new WarmNamespaces(io),
    outages,
    stores: composeStores(databaseUrl, { ...io, observe: outages.open(io.observe).observe }),
    records: databaseUrl && new RuntimeRecords({ ...io, databaseUrl }),
    outputs: new PendingOutputs(),
    emulators: config.emulators === 'on' ? emulators : undefined,
    instanceId: randomness.uuid(),
    stopping: stopping.signal,
  };
  const served = new ServedApplications({
    applicationOf: (versionKey) => folders.applicationOf(versionKey),
    serve: (key, application, index, hooks) => composeApplication(key, application, index, shared, hooks),
    observe: io.observe,
  });
  const recovery = composeRecovery(io, side, (key, deployed, index) => served.open(key, deployed, index));
  const deployed = composeDeployed(config, io, side, { folders, served, recovery });
  const settings = { environment: withoutPlatformVariables(environment), defaults: defaultSettings(config) };
  const hosting = composeHosting(shared, {
    recovery,
    served,
    scaleControl: control,
    isTold: link !== undefined,
    ...settings,
  });
  const indexer = composeIndexer(shared, { command: workerCommandOf(config), leash, ...settings });
  const applications = new RuntimeApplications(deployed, hosting.hosted);
  const specializer = admitWorkers(config, io, side, applications, indexer);
  const memory = composeMemoryGuard(config, io, side, control);
  const http = composeHttpServer(config, io, side, { applications, indexer, health, sinks, connections, outages });
  addChecks(health, side.listeners, deployed, outages);
  const { hosted } = hosting;
  const linked = {
    config,
    environment: settings.environment,
    io,
    side,
    specializer,
    hosted,
    functionsUrl: () => http.url,
    memory: () => memoryUse(config),
  };
  return {
    served: served.byKey,
    life: inOrder('runtime', [
      step('leash', { down: () => leash.stop() }),
      emulators, // drained after the listeners, which settle their messages
      shared.stores,
      ...(shared.records ? [shared.records] : []),
      side.listeners,
      processes,
      indexer,
      side.monitor,
      memory,
      side.tracker,
      step('retries', { down: async () => stopping.abort() }),
      shared.outputs,
      new WorkerShutdown(side.registry, side.lifecycle),
      folders,
      hosting.life,
      http,
      announceFunctions(http, applications, emulators, io),
      ...(link ? serveScaleLink(link, linked) : []),
    ]),
    announce: () => announcement(http, side.listeners, applications),
  };
}

function authorityOf({ certificatesDir }: RuntimeConfig): Parameters<typeof composeWorkerEndpoint>[2] {
  return certificatesDir === undefined ? undefined : () => storedAuthority(certificatesDir);
}

/** The applications are served: lists their functions, and starts what could wait until now. */
function announceFunctions(
  http: FunctionsHttpServer,
  applications: RuntimeApplications,
  emulators: EmulatorSupply,
  { observe }: Pick<RuntimeIo, 'observe'>,
): Lifecycle {
  return step('functions', {
    up: async () => {
      const functions = functionLines(applications.all(), http.url);
      if (functions.length > 0) observe({ kind: 'application.functions', functions });
      emulators.flush();
    },
  });
}

/** The facts for `drover up`. */
function announcement(
  { url }: FunctionsHttpServer,
  { loopback, tls }: RpcListeners,
  applications: RuntimeApplications,
): Readonly<Record<string, string>> {
  const problems = applications.problems();
  return {
    functions: url,
    functionRpcLoopback: `http://127.0.0.1:${loopback.port}`,
    ...(problems.length > 0 && { problems: JSON.stringify(problems) }),
    ...(tls && { functionRpc: `https://${tls.host}:${tls.port}` }),
  };
}

/** A runtime with applications is ready while one of them is served. Each that is not is reported. */
function addChecks(
  health: ProcessIo['health'],
  listeners: RpcListeners,
  applications: DeployedApplications,
  outages: SourceOutages,
): void {
  health.addCheck('rpc', () => (listeners.isListening ? undefined : 'function workers cannot connect'));
  health.addNotice('trigger sources', () => outages.problem());
  for (const name of applications.names) health.addNotice(`application ${name}`, () => applications.problemOf(name));
  health.addCheck('applications', () =>
    applications.names.length > 0 && applications.problems().length === applications.names.length
      ? 'no call of any application is served'
      : undefined,
  );
}

/** A level in the environment is the lowest of all lines; without one, host.json may ask for more lines of its functions. */
function composeObserve(
  { callLinesPerSecond }: RuntimeConfig,
  { DROVER_LOG_LEVEL: configured }: Environment,
  sinks: ProcessIo['sinks'],
): ObserveLevels<RuntimeObservation> {
  const observeAt = (level: string): RuntimeObserve =>
    createObserve(runtimeReaders, { ...sinks, log: sinks.log.child({}, { level }) }, { callLinesPerSecond });
  const observe = createObserve(runtimeReaders, sinks, { callLinesPerSecond });
  return { observe, quietly: observeAt('silent'), fully: configured ? observe : observeAt('debug') };
}

/** Where the state of triggers and the collections are. In `drover up`, the file of the URL appears when the database is ready. */
function databaseUrlOf(
  { triggerDatabaseUrl, triggerDatabaseUrlFile }: RuntimeConfig,
  clock: RuntimeIo['clock'],
): (() => Promise<Secret>) | undefined {
  const readUrl = async (file: string): Promise<Secret> => {
    for (let waitedMs = 0; !existsSync(file) && waitedMs < databaseWithinMs; waitedMs += filePollMs)
      await sleep(clock, filePollMs);
    return new Secret((await readFile(file, 'utf8')).trim());
  };
  if (triggerDatabaseUrl) return () => Promise.resolve(triggerDatabaseUrl);
  return triggerDatabaseUrlFile ? () => readUrl(triggerDatabaseUrlFile) : undefined;
}

function composeStores(
  databaseUrl: (() => Promise<Secret>) | undefined,
  io: Omit<RuntimeIo, 'observe'> & { readonly observe: Observe<TriggerSourceObservation> },
): TriggerStores {
  return new TriggerStores({ databaseUrl, release: 'runtime', ...io });
}

function workerCommandOf({ workerCommand }: RuntimeConfig): WorkerCommand | undefined {
  if (workerCommand === undefined) return installedNodeWorker();
  return withFilesFrom(process.cwd(), parseWorkerCommand(workerCommand));
}

function composeProcesses(
  config: RuntimeConfig,
  io: RuntimeIo,
  { admission, registry, listeners }: WorkerEndpoint,
  leash: Leash,
): WorkerProcesses {
  return new WorkerProcesses({
    command: workerCommandOf(config),
    leash,
    count: config.workersPerApplication,
    admission,
    address: () => listeners.loopback,
    maxMessageBytes: config.maxMessageBytes,
    graceMs: config.terminateGraceMs,
    connectWithinMs: config.startTimeoutMs,
    endsByItself: (workerId) => registry.get(workerId)?.endsByItself === true,
    ...io,
  });
}

function composeMemoryGuard(
  config: RuntimeConfig,
  io: RuntimeIo,
  { jobHosts, lifecycle }: WorkerSide,
  starts: Pick<WorkerProcesses, 'suspendStarts' | 'resumeStarts'>,
): MemoryGuard {
  return new MemoryGuard({
    everyMs: memoryEveryMs,
    limits: defaultPressureLimits,
    used: () => memoryUse(config),
    pauseIntake() {
      starts.suspendStarts();
      for (const host of jobHosts.all()) host.pause('memory');
    },
    resumeIntake() {
      starts.resumeStarts();
      for (const host of jobHosts.all()) host.resume('memory');
    },
    drainOldest: (count) => lifecycle.retireOldest(count),
    ...io,
  });
}

function composeHttpServer(
  config: RuntimeConfig,
  io: RuntimeIo,
  side: WorkerSide,
  {
    applications,
    indexer,
    health,
    sinks,
    connections,
    outages,
  }: Pick<ProcessIo, 'health' | 'sinks'> & {
    readonly applications: RuntimeApplications;
    readonly indexer: ApplicationIndexer;
    readonly connections: ConnectionChannel | undefined;
    readonly outages: SourceOutages;
  },
): FunctionsHttpServer {
  return new FunctionsHttpServer({
    host: config.httpHost,
    port: config.httpPort,
    limits: portLimits(config),
    hasFastLane: config.fastLane === 'on',
    applications,
    indexing: { indexer, masterKey: config.masterKey },
    connections,
    health: {
      health,
      metrics: { masterKey: config.masterKey, text: () => sinks.metrics.metrics() },
      vitals: () => ({
        isRpcListening: side.listeners.isListening,
        totalWorkers: side.registry.size,
        readyWorkers: side.registry.in('ready').length,
        activeJobHosts: side.jobHosts.size,
        memoryUtilization: memoryUse(config),
        pendingInvocations: side.tracker.size,
        unservedApplications: applications.problems().length,
        unavailableSources: outages.count,
      }),
    },
    // On loopback, forwarded headers come from the gateway on this machine; on the network, any client can forge them.
    trustsForwarded: isLoopback(config.httpHost),
    trustsClientPrincipal: false,
    ...io,
  });
}

/** A body that is not streamed goes to its worker in one message, with its headers. */
function portLimits({ bodyLimitBytes, maxMessageBytes, ...config }: RuntimeConfig): Partial<FunctionsPortLimits> {
  return {
    writeMs: config.writeTimeoutMs,
    connections: config.portConnections,
    connectionsPerClient: config.portConnectionsPerClient,
    bodyBytes: bodyLimitBytes,
    bufferedBodyBytes: maxMessageBytes - Math.min(mebibyte, maxMessageBytes / 2),
    heldBodyBytes: Math.max(functionsPortLimits.heldBodyBytes, maxMessageBytes),
  };
}

/** Resident memory as a fraction of the configured limit. */
function memoryUse({ memoryLimitMb }: RuntimeConfig): number {
  return process.memoryUsage.rss() / (memoryLimitMb * mebibyte);
}

/** The configuration of the runtime, and the environment from which applications get theirs. */
type RuntimeProcessConfig = RuntimeConfig & { readonly environment: Environment };

/** What `drover up` provides to the runtime that it supervises. */
interface RuntimeSurroundings {
  /** Connections of a gateway on the same machine. */
  readonly connections?: ConnectionChannel;
  /** Starts emulators; without it the runtime does. */
  readonly demandEmulators?: DemandEmulators;
}

/** `flags` override the environment. */
export function runtimeProcess(
  flags: Environment = {},
  surroundings: RuntimeSurroundings = {},
): ProcessDescription<RuntimeProcessConfig> {
  return {
    name: 'runtime',
    parse: (given) => {
      const environment = { ...given, ...flags };
      return { ...parseRuntimeConfig(environment), environment };
    },
    compose: (config, io) => composeRuntime(config, io, surroundings),
  };
}
