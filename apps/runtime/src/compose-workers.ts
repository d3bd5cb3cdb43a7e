import { deadlineAfter, type Clock, type Randomness } from '@drover/service-kit';
import type { CertificateAuthority } from './certificates/certificate-authority.js';
import type { RuntimeConfig } from './config.js';
import { ApplicationDeployments, type WorkerLauncher } from './deployments/application-deployments.js';
import type { DeployedVersion, FunctionIndex } from './deployments/deployed-version.js';
import { InvocationTracker } from './invocations/invocation-tracker.js';
import { WorkerMessages } from './invocations/worker-messages.js';
import { JobHostManager } from './job-hosts/job-host-manager.js';
import { JobHostRecovery } from './deployments/job-host-recovery.js';
import type { JobHost } from './job-hosts/job-host.js';
import type { RuntimeObserve } from './observations.js';
import { Admission } from './rpc/admission.js';
import { RpcListeners } from './rpc/rpc-listeners.js';
import { WorkerEntrance } from './rpc/worker-entrance.js';
import { Specializer } from './specialization/specializer.js';
import type { FunctionWorker } from './workers/function-worker.js';
import { FunctionWorkerRegistry } from './workers/function-worker-registry.js';
import type { ScaleControl } from './workers/scale-control.js';
import { WorkerHealthMonitor } from './worker-lifecycle/worker-health-monitor.js';
import { WorkerLifecycle } from './worker-lifecycle/worker-lifecycle.js';
import type { WorkerSettings } from './workers/worker-settings.js';

export interface WorkerSide {
  readonly admission: Admission;
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: InvocationTracker;
  readonly jobHosts: JobHostManager;
  readonly deployments: ApplicationDeployments;
  readonly lifecycle: WorkerLifecycle;
  readonly specializer: Specializer;
  readonly messages: WorkerMessages;
  readonly listeners: RpcListeners;
  readonly monitor: WorkerHealthMonitor;
}

export interface WorkerSideParts {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: RuntimeObserve;
  readonly authority: (() => Promise<CertificateAuthority>) | undefined;
  /** Whoever starts and ends workers; it is made with what is made here. */
  readonly control: (admission: Admission, listeners: () => RpcListeners) => ScaleControl & WorkerLauncher;
  readonly readIndex: (worker: FunctionWorker, deployed: DeployedVersion) => Promise<FunctionIndex>;
  readonly openJobHost: (key: string, deployed: DeployedVersion, index: FunctionIndex) => JobHost;
  readonly onPlaceholder?: (worker: FunctionWorker) => void;
}

const orphanAfterMs = 900_000;
const maxHeldLogs = 10_000;

/** Everything between the door for workers and the job hosts. */
export function composeWorkers(config: RuntimeConfig, parts: WorkerSideParts): WorkerSide {
  const { clock, randomness, observe, authority } = parts;
  const settings = toWorkerSettings(config);
  const io = { clock, randomness, observe };
  const admission = new Admission();
  const registry = new FunctionWorkerRegistry();
  const tracker = new InvocationTracker({
    clock,
    randomness,
    maxInvocations: config.maxInvocations,
    onTimeout: (invocation) => lifecycle.timedOut(invocation),
    orphanAfterMs,
    onOrphan: ({ id, workerId }) => observe({ kind: 'invocation.orphan', invocationId: id, workerId }),
  });
  const messages = new WorkerMessages(tracker, observe);
  const jobHosts = new JobHostManager({
    maxHeldLogs,
    onDroppedLog: (workerId) => observe({ kind: 'worker.log-dropped', workerId }),
    placeholders: messages,
  });
  const control = parts.control(admission, () => listeners);
  const lifecycle: WorkerLifecycle = new WorkerLifecycle({
    registry,
    tracker,
    jobHosts,
    scaleControl: control,
    settings,
    onArrived: (worker) => void specializer.welcome(worker),
    ...io,
  });
  const deployments = new ApplicationDeployments({
    jobHosts,
    registry,
    lifecycle,
    launcher: control,
    observe,
    drainSignal: () => deadlineAfter(clock, settings.drainTimeoutMs).signal,
  });
  const specializer: Specializer = new Specializer({
    lifecycle: () => lifecycle,
    jobHosts,
    settings,
    find: (key) => deployments.find(key),
    readIndex: parts.readIndex,
    openJobHost: (key, deployed, index) => recovery.watch(parts.openJobHost(key, deployed, index), deployed, index),
    onReady: (key, host) => deployments.noteReady(key, host),
    onBroken: (key, error) => deployments.noteBroken(key, error),
    ...(parts.onPlaceholder && { onPlaceholder: parts.onPlaceholder }),
    ...io,
  });
  const recovery = new JobHostRecovery({
    jobHosts,
    registry,
    tracker,
    lifecycle,
    observe,
    openJobHost: parts.openJobHost,
  });
  const entrance = new WorkerEntrance({
    admission,
    clock,
    startStreamMs: settings.initTimeoutMs,
    maxMessageBytes: config.maxMessageBytes,
    isTaken: (workerId) => registry.get(workerId) !== undefined,
    onArrival: (arrival) => lifecycle.arrive(arrival),
    onRefused: (address, reason) => observe({ kind: 'rpc.refused', address, reason }),
  });
  const listeners: RpcListeners = new RpcListeners({
    loopbackPort: config.loopbackPort,
    tls: authority && {
      host: config.rpcHost,
      port: config.rpcPort,
      names: config.rpcNames.split(',').map((name) => name.trim()),
      authority,
    },
    onStream: (stream) => entrance.open(stream),
    observe,
  });
  const monitor = new WorkerHealthMonitor({ registry, lifecycle, settings, clock, observe });
  return { admission, registry, tracker, jobHosts, deployments, lifecycle, specializer, messages, listeners, monitor };
}

function toWorkerSettings(config: RuntimeConfig): WorkerSettings {
  return {
    maxConcurrentInvocations: config.maxConcurrentInvocations,
    initTimeoutMs: config.startTimeoutMs,
    loadTimeoutMs: config.startTimeoutMs,
    reloadTimeoutMs: config.startTimeoutMs,
    heartbeatIntervalMs: config.heartbeatIntervalMs,
    heartbeatMisses: config.heartbeatMisses,
    backpressureMs: config.backpressureMs,
    drainTimeoutMs: config.drainTimeoutMs,
    terminateGraceMs: config.terminateGraceMs,
    recycleOnTimeout: config.recycleOnTimeout === 'true',
    recycleOnConsecutiveTimeouts: config.recycleOnConsecutiveTimeouts,
    abandonedMs: config.abandonedMs,
  };
}
