import { systemClock, type Clock } from '@drover/service-kit';
import type { WorkerConfig } from './config.js';
import { ContextSignals } from './execution/context-signal.js';
import { InFlight } from './execution/in-flight.js';
import { legacyModel } from './execution/legacy/legacy-model.js';
import { warmUpInvocations } from './execution/warm-up-invocations.js';
import { LoopTurns } from './execution/loop-turns.js';
import { Termination } from './execution/termination.js';
import { withFastPath } from './execution/v4/fast-model.js';
import { createDispatch } from './handlers/dispatch.js';
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
import { workerMetadata, workerVersion } from './loading/capabilities.js';
import { createCoreModule } from './loading/core-module.js';
import { loadScript } from './loading/load-script.js';
import { PreparedLibrary } from './loading/prepared-library.js';
import { warmUp } from './loading/warm-up.js';
import { reportStart } from './logs/report-start.js';
import { RpcLogs } from './logs/rpc-logs.js';
import { createSystemLog, type SystemConsole, type SystemLog } from './logs/system-log.js';
import { createDial, maxResponseBytes } from './stream/dial.js';
import { HostConnection } from './stream/host-connection.js';
import { HostProperties } from './stream/host-properties.js';

/** What the worker needs from its process. */
export interface WorkerIo {
  readonly console: SystemConsole;
  readonly appProcess: AppProcess;
  /** The file of the worker: its own dependencies are found from there. */
  readonly workerFile: string;
  /** Version and architecture of Node. */
  readonly runtime: { readonly version: string; readonly arch: string };
  readonly clock?: Clock;
  readonly onConnected?: () => void;
}

/** A composed worker that has not been started. */
export interface Worker {
  /** Connects and serves; resolves with the exit code of the process. */
  readonly run: () => Promise<number>;
  readonly connection: HostConnection;
  readonly termination: Termination;
  readonly health: HealthServer;
  readonly inFlight: InFlight;
  readonly loader: AppLoader;
  readonly systemLog: SystemLog;
  /** What `require('@azure/functions-core')` must return. */
  readonly coreModule: object;
}

export function composeWorker(config: WorkerConfig, io: WorkerIo): Worker {
  const { console, clock = systemClock } = io;
  const apps = new AppSlot(config.usesPlainLibrary ? undefined : withFastPath);
  const host = new HostProperties();
  const inFlight = new InFlight();
  const connection = composeConnection(config, { ...io, clock, host, inFlight });
  const logs = new RpcLogs(() => apps.current);
  const systemLog = createSystemLog({ logs, console, stream: () => connection.stream });
  const loader = new AppLoader({ apps, load: loadScript, events: { onStarted: reportStart(systemLog) } });
  const termination = new Termination({ inFlight, apps, systemLog, clock, end: () => connection.close(0) });
  const loading = { apps, loader, load: loadScript, legacyModel, systemLog };
  const prepared = new PreparedLibrary(io.workerFile);
  const describe = () => workerMetadata(apps.current.programmingModel ?? legacyModel, io.runtime, loader.directory);
  const turns = new LoopTurns();
  const dispatch = createDispatch(
    {
      invocationRequest: invocationRequest({
        apps,
        loader,
        inFlight,
        signals: new ContextSignals(inFlight),
        turns,
        logs,
        systemLog,
        isTerminating: () => termination.hasBegun,
        maxMessageBytes: Math.min(config.maxMessageBytes, maxResponseBytes),
      }),
      invocationCancel: invocationCancel({ inFlight }),
      workerStatusRequest: workerStatusRequest(turns),
      workerInitRequest: workerInitRequest({ loader, host, describe }),
      workerWarmupRequest: workerWarmupRequest({
        loader,
        warmUp: () => warmUp({ prepared, warmUpInvocations: (library) => warmUpInvocations(apps, library) }),
      }),
      functionsMetadataRequest: functionsMetadataRequest({ apps, loader }),
      functionLoadRequest: functionLoadRequest(loading),
      functionLoadRequestCollection: functionLoadRequestCollection(loading),
      functionEnvironmentReloadRequest: functionEnvironmentReloadRequest({ ...loading, ...io, prepared, describe }),
      workerTerminate: workerTerminate({ termination }),
    },
    systemLog,
  );
  const health = new HealthServer(() => ({
    isLive: connection.isLive,
    state: connection.state,
    inFlight: inFlight.size,
  }));
  const coreModule = createCoreModule({
    apps,
    workerVersion,
    hostVersion: () => host.version,
    log: (level, category, message) => systemLog(level, message, category),
    defaultModel: () => legacyModel,
  });
  const run = () => connection.run(dispatch);
  return { run, connection, termination, health, inFlight, loader, systemLog, coreModule };
}

/**
 * On loopback the host starts its workers, so it listens, unless it stops at this moment: then the worker is told to end before this
 * has passed, and must not report an error.
 */
const loopbackFirstMs = 2_000;

function composeConnection(
  { workerId, requestId, reconnectMs, hostUrl, tls, maxMessageBytes }: WorkerConfig,
  parts: WorkerIo & { readonly clock: Clock; readonly host: HostProperties; readonly inFlight: InFlight },
): HostConnection {
  const { console, clock, host, inFlight, onConnected = () => undefined } = parts;
  return new HostConnection({
    workerId,
    requestId,
    reconnectMs,
    // Across a network host and workers may start in any order.
    firstWithinMs: tls === undefined ? Math.min(reconnectMs, loopbackFirstMs) : reconnectMs,
    dial: createDial({ url: hostUrl, tls, maxMessageBytes }),
    host,
    console,
    clock,
    randomness: { fraction: Math.random },
    onConnected,
    onLost: (stream, { reason }) => void inFlight.abandon(stream, `The stream to the host ended: ${reason}.`),
  });
}
