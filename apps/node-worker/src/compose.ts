import type { WorkerConfig } from './config.js';
import { systemClock, type Clock } from './clock.js';
import { ContextSignals } from './execution/context-signal.js';
import { InFlight } from './execution/in-flight.js';
import { legacyModel } from './execution/legacy/legacy-model.js';
import { rehearse } from './execution/rehearsal.js';
import { Termination } from './execution/termination.js';
import { quicken } from './execution/v4/quick-model.js';
import { functionEnvironmentReloadRequest, type AppProcess } from './handlers/function-environment-reload-request.js';
import { functionLoadRequestCollection } from './handlers/function-load-request-collection.js';
import { functionLoadRequest } from './handlers/function-load-request.js';
import { functionsMetadataRequest } from './handlers/functions-metadata-request.js';
import { invocationCancel } from './handlers/invocation-cancel.js';
import { invocationRequest } from './handlers/invocation-request.js';
import { workerInitRequest } from './handlers/worker-init-request.js';
import { workerStatusRequest } from './handlers/worker-status-request.js';
import { workerTerminate } from './handlers/worker-terminate.js';
import { workerWarmupRequest } from './handlers/worker-warmup-request.js';
import { HealthServer } from './health/health-server.js';
import { AppLoader } from './loading/app-loader.js';
import { AppSlot } from './loading/app-slot.js';
import { workerMetadata } from './loading/capabilities.js';
import { createCoreModule } from './loading/core-module.js';
import { loadScript } from './loading/load-script.js';
import { reportStart } from './loading/report-start.js';
import { warmUp } from './loading/warm-up.js';
import { RpcLogs } from './logs/rpc-logs.js';
import type { SystemConsole } from './logs/system-console.js';
import { createSystemLog } from './logs/system-log.js';
import { createDial, maxResponseBytes } from './stream/dial.js';
import { createDispatch } from './stream/dispatch.js';
import { HostConnection } from './stream/host-connection.js';
import { HostFacts } from './stream/host-facts.js';
import type { MessageHandlers } from './stream/host-stream.js';
import { workerVersion } from './version.js';

/** What the worker needs of its process. */
export interface WorkerIo {
  readonly console: SystemConsole;
  readonly appProcess: AppProcess;
  /** Version and architecture of Node. */
  readonly runtime: { readonly version: string; readonly arch: string };
  readonly clock?: Clock;
  readonly onConnected?: () => void;
}

/** The worker, wired and not yet started. */
export interface Worker {
  readonly connection: HostConnection;
  readonly termination: Termination;
  readonly health: HealthServer;
  readonly inFlight: InFlight;
  readonly loader: AppLoader;
  readonly systemLog: ReturnType<typeof createSystemLog>;
  /** What `require('@azure/functions-core')` has to return. */
  readonly coreModule: object;
}

export function composeWorker(config: WorkerConfig, io: WorkerIo): Worker {
  const { workerId, requestId, reconnectMs, hostUrl, tls, maxMessageBytes } = config;
  const { console, appProcess, runtime, clock = systemClock } = io;
  const apps = new AppSlot(config.usesPlainLibrary ? undefined : quicken);
  const host = new HostFacts();
  const inFlight = new InFlight();
  const signals = new ContextSignals(inFlight);
  const logs = new RpcLogs(() => apps.current);
  const systemLog = createSystemLog({ logs, console, stream: () => connection.stream });
  const loader = new AppLoader({ apps, load: loadScript, events: { onStarted: reportStart(systemLog) } });
  const describe = () => workerMetadata(apps.current.programmingModel ?? legacyModel, runtime, loader.directory);
  const termination = new Termination({ inFlight, apps, systemLog, clock, end: () => connection.close(0) });
  const loading = { apps, loader, load: loadScript, legacyModel, systemLog };
  const handlers: MessageHandlers = {
    invocationRequest: invocationRequest({
      apps,
      loader,
      inFlight,
      signals,
      logs,
      systemLog,
      isTerminating: () => termination.hasBegun,
      maxMessageBytes: Math.min(maxMessageBytes, maxResponseBytes),
    }),
    invocationCancel: invocationCancel({ inFlight }),
    workerStatusRequest: workerStatusRequest(),
    workerInitRequest: workerInitRequest({ loader, host, describe }),
    workerWarmupRequest: workerWarmupRequest({ warmUp: () => warmUp(rehearse) }),
    functionsMetadataRequest: functionsMetadataRequest({ apps, loader }),
    functionLoadRequest: functionLoadRequest(loading),
    functionLoadRequestCollection: functionLoadRequestCollection(loading),
    functionEnvironmentReloadRequest: functionEnvironmentReloadRequest({ loader, appProcess, describe, systemLog }),
    workerTerminate: workerTerminate({ termination }),
  };
  const connection: HostConnection = new HostConnection({
    workerId,
    requestId,
    reconnectMs,
    // Whoever starts a worker on this machine is there; across a network they may come up in any order.
    waitsForFirst: tls !== undefined,
    dial: createDial({ url: hostUrl, tls, maxMessageBytes }),
    host,
    console,
    clock,
    chance: Math.random,
    onMessage: createDispatch(handlers, systemLog),
    onConnected: io.onConnected ?? (() => undefined),
    onLost: (stream, { reason }) => void inFlight.abandon(stream, `The stream to the host ended: ${reason}.`),
  });
  const health = new HealthServer(() => ({
    isLive: connection.isLive,
    state: connection.state,
    inFlight: inFlight.size,
  }));
  const log = (level: Parameters<typeof systemLog>[0], category: 'user' | 'system' | 'customMetric', message: string) =>
    systemLog(level, message, category);
  const coreModule = createCoreModule({
    apps,
    workerVersion,
    hostVersion: () => host.version,
    log,
    defaultModel: () => legacyModel,
  });
  return { connection, termination, health, inFlight, loader, systemLog, coreModule };
}
