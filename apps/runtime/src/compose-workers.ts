import type { Clock, Randomness } from '@drover/service-kit';
import { LockedMessages } from '@drover/trigger-sources';
import type { CertificateAuthority } from './certificates/certificate-authority.js';
import { scaleLinkUrls, type RuntimeConfig } from './config.js';
import { ApplicationDeployments, type WorkerLauncher } from './deployments/application-deployments.js';
import { JobHostRecovery, type JobHostRecoveryOptions } from './deployments/job-host-recovery.js';
import type { ApplicationIndexer } from './indexing/application-indexer.js';
import { InvocationTracker } from './invocations/invocation-tracker.js';
import { WorkerMessages } from './invocations/worker-messages.js';
import { JobHostManager } from './job-hosts/job-host-manager.js';
import type { RuntimeObserve } from './observations.js';
import { Admission } from './rpc/admission.js';
import { RpcListeners } from './rpc/rpc-listeners.js';
import { StreamHandshake } from './rpc/stream-handshake.js';
import { Specializer, type SpecializableApplications } from './specialization/specializer.js';
import { settlementService } from './triggers/settlement-service.js';
import { WorkerHealthMonitor } from './worker-lifecycle/worker-health-monitor.js';
import { WorkerLifecycle } from './worker-lifecycle/worker-lifecycle.js';
import { FunctionWorkerRegistry } from './workers/function-worker-registry.js';
import type { ScaleControl } from './workers/scale-control.js';
import type { WorkerSettings } from './workers/worker-settings.js';

export interface RuntimeIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: RuntimeObserve;
}

/** The endpoint that workers connect to: it exists before anything that starts workers. */
export interface WorkerEndpoint {
  readonly admission: Admission;
  readonly registry: FunctionWorkerRegistry;
  readonly listeners: RpcListeners;
  /** What workers can settle themselves. */
  readonly lockedMessages: LockedMessages;
}

/** Everything about workers that exists before any application is known. */
export interface WorkerSide extends WorkerEndpoint {
  readonly tracker: InvocationTracker;
  readonly messages: WorkerMessages;
  readonly jobHosts: JobHostManager;
  readonly lifecycle: WorkerLifecycle;
  readonly deployments: ApplicationDeployments;
  readonly monitor: WorkerHealthMonitor;
}

const sweepEveryMs = 60_000;
const orphanAfterMs = 900_000;
const maxHeldLogs = 10_000;
const lostGraceMs = 1_000;
/** As long as a scale controller needs to notice a new runtime, or another one to take over. */
const announcedWithinMs = 10_000;

export function composeWorkerEndpoint(
  config: RuntimeConfig,
  { observe }: Pick<RuntimeIo, 'observe'>,
  authority: (() => Promise<CertificateAuthority>) | undefined,
): WorkerEndpoint {
  const lockedMessages = new LockedMessages();
  const listeners = new RpcListeners({
    loopbackPort: config.loopbackPort,
    tls: authority && {
      host: config.rpcHost,
      port: config.rpcPort,
      names: config.rpcNames.split(',').map((name) => name.trim()),
      authority,
    },
    settlement: settlementService(lockedMessages),
    observe,
  });
  return { admission: new Admission(), registry: new FunctionWorkerRegistry(), listeners, lockedMessages };
}

export function composeWorkers(
  config: RuntimeConfig,
  io: RuntimeIo,
  endpoint: WorkerEndpoint,
  control: ScaleControl & WorkerLauncher,
): WorkerSide {
  const { observe } = io;
  const { registry } = endpoint;
  const settings = toWorkerSettings(config);
  const tracker = new InvocationTracker({
    ...io,
    maxInvocations: config.maxInvocations,
    sweepEveryMs,
    orphanAfterMs,
    onOrphan: ({ id, workerId }) => observe({ kind: 'invocation.orphan', invocationId: id, workerId }),
  });
  const messages = new WorkerMessages(tracker, observe);
  const jobHosts = new JobHostManager({
    maxHeldLogs,
    onDroppedLog: (workerId) => observe({ kind: 'worker.log-dropped', workerId }),
    placeholders: messages,
  });
  const lifecycle = new WorkerLifecycle({ registry, tracker, jobHosts, scaleControl: control, settings, ...io });
  const deployments = new ApplicationDeployments({
    jobHosts,
    registry,
    lifecycle,
    launcher: control,
    drainTimeoutMs: settings.drainTimeoutMs,
    ...io,
  });
  const monitor = new WorkerHealthMonitor({ registry, lifecycle, settings, ...io });
  return { ...endpoint, tracker, messages, jobHosts, lifecycle, deployments, monitor };
}

/** Returns what opens job hosts, and opens them again when they fail. */
export function composeRecovery(
  { observe }: Pick<RuntimeIo, 'observe'>,
  { jobHosts, registry, tracker, lifecycle }: WorkerSide,
  openJobHost: JobHostRecoveryOptions['openJobHost'],
): JobHostRecovery {
  return new JobHostRecovery({ jobHosts, registry, tracker, lifecycle, openJobHost, observe });
}

/** Lets workers in: from here on, each stream is admitted, and its worker specialized for one of the applications. */
export function admitWorkers(
  config: RuntimeConfig,
  io: RuntimeIo,
  side: WorkerSide,
  applications: SpecializableApplications,
  indexer?: Pick<ApplicationIndexer, 'connect'>,
): Specializer {
  const { admission, registry, listeners, jobHosts, lifecycle } = side;
  const { clock, observe } = io;
  const settings = toWorkerSettings(config);
  const specializer = new Specializer({ lifecycle, jobHosts, applications, settings, clock, observe });
  const handshake = new StreamHandshake({
    admission,
    clock,
    startStreamMs: settings.initTimeoutMs,
    announcedWithinMs: scaleLinkUrls(config).length > 0 ? announcedWithinMs : 0,
    maxMessageBytes: config.maxMessageBytes,
    // The stream of an abandoned worker was destroyed: its id is free, although it stays registered for a while.
    isConnected: (workerId) => registry.get(workerId)?.is('abandoned') === false,
    onAdmitted: (admitted) => indexer?.connect(admitted) ?? specializer.connect(admitted),
    onRefused: (address, reason) => observe({ kind: 'rpc.refused', address, reason }),
  });
  listeners.onStream((stream) => handshake.accept(stream));
  return specializer;
}

export function toWorkerSettings(config: RuntimeConfig): WorkerSettings {
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
    lostGraceMs,
    recycleOnTimeout: config.recycleOnTimeout === 'true',
    recycleOnConsecutiveTimeouts: config.recycleOnConsecutiveTimeouts,
    abandonedMs: config.abandonedMs,
  };
}
