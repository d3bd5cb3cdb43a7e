import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { defaultTenantId } from '@drover/contracts';
import {
  createObserve,
  inOrder,
  Leash,
  step,
  type Composition,
  type Environment,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import { QueueWakeups } from '@drover/trigger-sources';
import { storedAuthority } from './certificates/stored-authority.js';
import { composeApplication, supportedBindings, type ServedApplication } from './compose-application.js';
import { composeWorkers, type WorkerSide } from './compose-workers.js';
import { isLoopback, parseRuntimeConfig, type RuntimeConfig } from './config.js';
import { ApplicationFolders } from './deployments/application-folders.js';
import { readIndex } from './deployments/read-index.js';
import { FunctionsHttpServer } from './functions-http/functions-http-server.js';
import { pathSegments, splitTarget } from './routes/request-target.js';
import type { RouteTable } from './routes/route-table.js';
import { runtimeReaders } from './observations.js';
import { parseWorkerCommand, withFilesFrom } from './processes/worker-command.js';
import { WorkerProcesses } from './processes/worker-processes.js';
import { defaultPressureLimits, MemoryGuard } from './workers/memory-pressure.js';
import { WorkerShutdown } from './worker-lifecycle/worker-shutdown.js';

const memoryEveryMs = 10_000;
const sweepEveryMs = 60_000;
const mebibyte = 1_048_576;

/** A runtime, and the applications it serves by the key of their job host. */
export interface RuntimeComposition extends Composition {
  readonly served: ReadonlyMap<string, ServedApplication>;
}

export function composeRuntime(
  { environment, ...config }: RuntimeProcessConfig,
  { sinks, health, clock, randomness }: ProcessIo,
): RuntimeComposition {
  const observe = createObserve(runtimeReaders, sinks);
  const io = { clock, randomness, observe };
  const stopping = new AbortController();
  const instanceId = randomness.uuid();
  const served = new Map<string, ServedApplication>();
  const { certificatesDir } = config;
  const leash = new Leash();
  let processes: WorkerProcesses | undefined;
  const side: WorkerSide = composeWorkers(config, {
    ...io,
    authority: certificatesDir === undefined ? undefined : () => storedAuthority(certificatesDir),
    control: (admission, listeners) =>
      (processes = new WorkerProcesses({
        command:
          config.workerCommand === undefined
            ? undefined
            : withFilesFrom(process.cwd(), parseWorkerCommand(config.workerCommand)),
        leash,
        count: config.workersPerApplication,
        admission,
        address: () => listeners().loopback,
        maxMessageBytes: config.maxMessageBytes,
        graceMs: config.terminateGraceMs,
        wasTold: (workerId) => {
          const worker = side.registry.get(workerId);
          return worker !== undefined && worker.wasTerminated && worker.can('HandlesWorkerTerminateMessage');
        },
        ...io,
      })),
    readIndex: async (worker, { key, version }) => {
      const index = await readIndex(worker, {
        applicationId: version.applicationId,
        application: folders.applicationOf(key),
        supported: supportedBindings,
        timeoutMs: config.startTimeoutMs,
      });
      observe({ kind: 'application.indexed', application: key, functions: index.functions.map(({ name }) => name) });
      for (const { functionName, file, problem } of index.problems)
        observe({
          kind: 'application.problem',
          application: key,
          problem: `${functionName}${file ? ` (${file})` : ''}: ${problem}`,
        });
      return index;
    },
    openJobHost(key, deployed, index) {
      const application = composeApplication(key, folders.applicationOf(deployed.key), index, {
        config,
        side: () => side,
        wakeups,
        instanceId,
        restart: (jobHostKey) =>
          side.registry
            .in('ready', 'unhealthy')
            .filter((worker) => worker.jobHostKey === jobHostKey)
            .forEach((worker) => void side.lifecycle.recycle(worker, 'restart-asked')),
        stopping: stopping.signal,
        ...io,
      });
      for (const [old, { host }] of served) if (host.state === 'stopped') served.delete(old);
      served.set(key, application);
      observe({ kind: 'job-host.started', jobHost: key });
      return application.host;
    },
  });
  const wakeups = new QueueWakeups();
  const folders = new ApplicationFolders({
    directories: config.applications.split(path.delimiter).filter((directory) => directory !== ''),
    tenantId: defaultTenantId,
    environment: withoutOurs(environment),
    deployments: side.deployments,
    jobHosts: side.jobHosts,
    isHotReload: config.hotReload === 'on',
    startWithinMs: config.startTimeoutMs,
    clock,
    observe,
  });
  const memoryUse = (): number => process.memoryUsage.rss() / (config.memoryLimitMb * mebibyte);
  const memory = new MemoryGuard({
    clock,
    observe,
    everyMs: memoryEveryMs,
    limits: defaultPressureLimits,
    used: memoryUse,
    pauseIntake() {
      processes?.holdBack();
      side.jobHosts.all().forEach((host) => host.pause('memory'));
    },
    resumeIntake() {
      processes?.goOn();
      side.jobHosts.all().forEach((host) => host.resume('memory'));
    },
    drainOldest: (count) =>
      side.registry
        .in('ready')
        .toSorted((one, other) => one.connectedMs - other.connectedMs)
        .slice(0, count)
        .forEach((worker) => void side.lifecycle.retire(worker)),
  });
  let cancelSweep: (() => void) | undefined;
  const sweep = (): void => {
    side.tracker.sweep(clock.monotonicMs());
    cancelSweep = clock.after(sweepEveryMs, sweep);
  };
  const sweeper = step('sweeper', {
    up: async () => sweep(),
    down: async () => {
      cancelSweep?.();
      side.tracker.stop();
    },
  });
  const http = new FunctionsHttpServer({
    host: config.httpHost,
    port: config.httpPort,
    limits: { bodyBytes: config.bodyLimitBytes },
    applications: {
      resolve: (request) => resolveApplication(request)?.http,
      all: () => currentApplications().map(({ http }) => http),
    },
    health: {
      health,
      metrics: { masterKey: config.masterKey, text: () => sinks.metrics.metrics() },
      vitals: () => ({
        isRpcListening: side.listeners.isListening,
        totalWorkers: side.registry.size,
        readyWorkers: side.registry.in('ready').length,
        activeJobHosts: side.jobHosts.size,
        memoryUtilization: memoryUse(),
        pendingInvocations: side.tracker.size,
      }),
    },
    // On loopback it is the gateway that says where a request came from; from elsewhere it could be anybody.
    trustsForwarded: isLoopback(config.httpHost),
    trustsClientPrincipal: false,
    ...io,
  });
  const currentApplications = (): ServedApplication[] =>
    folders.names.flatMap((name) => {
      const host = side.deployments.serving(defaultTenantId, name);
      const application = host && served.get(host.key);
      return application ? [application] : [];
    });
  /** Several applications are told apart by their routes: the first that has one for the path gets the request. */
  const resolveApplication = (request: IncomingMessage): ServedApplication | undefined => {
    const current = currentApplications();
    return current.length === 1
      ? current[0]
      : (current.find(({ http: { routes } }) => hasRoute(routes, request)) ?? current[0]);
  };
  health.addCheck('rpc', () => (side.listeners.isListening ? undefined : 'function workers cannot connect'));
  return {
    served,
    life: inOrder('runtime', [
      step('leash', { down: () => leash.stop() }),
      side.listeners,
      ...(processes ? [processes] : []),
      side.monitor,
      memory,
      sweeper,
      step('retries', { down: async () => stopping.abort() }),
      new WorkerShutdown(side.registry, side.lifecycle),
      folders,
      http,
    ]),
    announce: () => ({
      functions: http.url,
      functionRpcLoopback: `http://127.0.0.1:${side.listeners.loopback.port}`,
      ...(side.listeners.tls && { functionRpc: `https://${side.listeners.tls.host}:${side.listeners.tls.port}` }),
    }),
  };
}

function hasRoute(routes: RouteTable, { method = 'GET', url = '/' }: IncomingMessage): boolean {
  const target = splitTarget(url);
  const segments = target && pathSegments(target.path);
  return segments !== undefined && routes.match(method, segments) !== undefined;
}

/** What is ours is none of an application's business. */
function withoutOurs(environment: Environment): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('DROVER_') && !name.startsWith('DATABASE_URL')),
  );
}

/** What the runtime reads itself, and what it may hand on to applications. */
export type RuntimeProcessConfig = RuntimeConfig & { readonly environment: Environment };

/** `flags` stand above the environment. */
export function runtimeProcess(flags: Environment = {}): ProcessDescription<RuntimeProcessConfig> {
  return {
    name: 'runtime',
    parse: (given) => {
      const environment = { ...given, ...flags };
      return { ...parseRuntimeConfig(environment), environment };
    },
    compose: composeRuntime,
  };
}
