import { GrpcStatus, type StreamEnd, type StreamingMessage } from '@drover/function-rpc';
import { deadlineAfter, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import type { InvocationTracker, TrackedInvocation } from '../invocations/invocation-tracker.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { Arrival, Resident } from '../rpc/worker-entrance.js';
import { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { ScaleControl, WorkerRequest } from '../workers/scale-control.js';
import { judgeStreamEnd, replacementFor } from './worker-losses.js';
import type { WorkerSettings } from '../workers/worker-settings.js';

export interface WorkerLifecycleOptions {
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: InvocationTracker;
  readonly jobHosts: JobHostManager;
  readonly scaleControl: ScaleControl;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<FunctionWorkerObservation>;
  /** A worker arrived: somebody brings it up. */
  readonly onArrived: (worker: FunctionWorker) => void;
}

/**
 * Cares for workers from their arrival to their end. However a worker ends, the same things happen once: it is taken out of
 * routing first, then what it had fails (and so returns to its source), then a replacement is asked for.
 */
export class WorkerLifecycle {
  readonly #options: WorkerLifecycleOptions;
  /** Cancels the timer of a worker whose stream is full. */
  readonly #crowded = new Map<FunctionWorker, () => void>();

  constructor(options: WorkerLifecycleOptions) {
    this.#options = options;
  }

  arrive({ workerId, applicationKey, stream }: Arrival): Resident {
    const { clock, randomness, registry, jobHosts, observe, settings } = this.#options;
    const worker = new FunctionWorker({
      id: workerId,
      stream,
      clock,
      randomness,
      limit: settings.maxConcurrentInvocations,
      onMove: (moved, change) => observe({ kind: 'worker.moved', workerId: moved.id, ...change }),
    });
    worker.applicationKey = applicationKey;
    registry.add(worker);
    jobHosts.register(workerId);
    observe({ kind: 'worker.connected', workerId, application: applicationKey, address: stream.peer.address });
    this.#options.onArrived(worker);
    return {
      receive: (message) => this.#receive(worker, message),
      leave: (end) => this.#left(worker, end),
      drained: () => this.#caughtUp(worker),
    };
  }

  /** Its job host takes invocations to it. */
  makeReady(worker: FunctionWorker): void {
    worker.move('ready');
    this.#routerOf(worker)?.add(worker);
  }

  /** Call after something was sent: one that does not keep up gets nothing more until it has. */
  noteFull(worker: FunctionWorker): void {
    if (this.#crowded.has(worker)) return;
    const { clock, settings, observe, scaleControl } = this.#options;
    this.#routerOf(worker)?.remove(worker);
    observe({ kind: 'worker.backpressure', workerId: worker.id, queuedBytes: worker.stream.queuedBytes });
    this.#crowded.set(
      worker,
      clock.after(settings.backpressureMs, () => {
        if (!worker.tryMove('unhealthy')) return;
        const others = this.#othersActive(worker);
        scaleControl.requestWorker(replacementFor(worker, others, 'backpressure'));
      }),
    );
  }

  /** A request of it ran out of time: its state cannot be trusted any more. */
  timedOut({ id, workerId }: TrackedInvocation): void {
    const { registry, settings } = this.#options;
    const worker = registry.get(workerId);
    if (!worker) return;
    worker.consecutiveTimeouts += 1;
    if (worker.can('HandlesInvocationCancelMessage'))
      worker.send({ kind: 'invocationCancel', value: { invocationId: id } });
    if (settings.recycleOnTimeout || worker.consecutiveTimeouts >= settings.recycleOnConsecutiveTimeouts)
      void this.recycle(worker, 'invocation-timeout');
  }

  /** Lets it finish what it has, ends it, and asks for another one at once. */
  async recycle(worker: FunctionWorker, reason: WorkerRequest['reason']): Promise<void> {
    const wasServing = worker.is('ready', 'unhealthy', 'specialized');
    if (!worker.tryMove('draining')) return;
    this.#routerOf(worker)?.remove(worker);
    if (wasServing)
      this.#options.scaleControl.requestWorker(replacementFor(worker, this.#othersActive(worker), reason));
    await this.#finish(worker);
  }

  /** As above, without another one; not later than `deadline`. */
  async retire(worker: FunctionWorker, deadline?: AbortSignal): Promise<void> {
    if (!worker.tryMove('draining')) return;
    this.#routerOf(worker)?.remove(worker);
    await this.#finish(worker, deadline);
  }

  /** It does not answer: told to end, cut off, and remembered for a while, without waiting for it. */
  abandon(
    worker: FunctionWorker,
    reason: WorkerRequest['reason'],
    text: string,
    { replace = true }: { readonly replace?: boolean } = {},
  ): void {
    const { clock, settings, registry, scaleControl } = this.#options;
    if (!worker.tryMove('abandoned')) return;
    this.#routerOf(worker)?.remove(worker);
    this.#terminate(worker);
    this.#letGo(worker, text);
    if (replace) scaleControl.requestWorker(replacementFor(worker, this.#othersActive(worker), reason));
    scaleControl.endWorker(worker.id, text);
    worker.stream.destroy(GrpcStatus.UNAVAILABLE, 'the worker was given up');
    clock.after(settings.abandonedMs, () => {
      worker.tryMove('disconnected');
      registry.remove(worker);
    });
  }

  async #finish(worker: FunctionWorker, latest?: AbortSignal): Promise<void> {
    const { clock, settings, tracker, observe } = this.#options;
    const deadline = deadlineAfter(clock, settings.drainTimeoutMs, latest);
    const isDrained = await tracker.whenIdle(worker.id, deadline.signal);
    deadline.cancel();
    if (!isDrained)
      observe({ kind: 'worker.drain-timeout', workerId: worker.id, inFlight: tracker.countOf(worker.id) });
    this.#terminate(worker);
    clock.after(settings.terminateGraceMs, () => {
      if (worker.is('disconnected')) return;
      this.#options.scaleControl.endWorker(worker.id, 'it was told to end and did not');
      worker.stream.destroy(GrpcStatus.UNAVAILABLE, 'the worker was told to end and did not');
    });
  }

  #terminate(worker: FunctionWorker): void {
    worker.wasTerminated = true;
    if (!worker.can('HandlesWorkerTerminateMessage')) return worker.stream.end();
    const seconds = Math.ceil(this.#options.settings.terminateGraceMs / 1_000);
    worker.send({ kind: 'workerTerminate', value: { gracePeriod: { seconds } } });
  }

  #receive(worker: FunctionWorker, message: StreamingMessage): void {
    worker.heardMs = this.#options.clock.monotonicMs();
    worker.missedHeartbeats = 0;
    if (worker.is('abandoned', 'disconnected')) return;
    if (message.kind !== 'rpcLog' && message.kind !== 'invocationResponse') {
      if (!worker.answer(message))
        this.#options.observe({ kind: 'worker.unexpected', workerId: worker.id, message: message.kind ?? 'unknown' });
      return;
    }
    if (message.kind === 'invocationResponse') worker.consecutiveTimeouts = 0;
    this.#options.jobHosts.route(worker.id, message);
  }

  #left(worker: FunctionWorker, end: StreamEnd): void {
    const { registry, scaleControl, observe } = this.#options;
    if (worker.is('abandoned')) return; // all of this has been done
    const wasPlaceholder = worker.is('placeholder', 'initializing');
    const verdict = judgeStreamEnd(end, worker.wasTerminated);
    this.#routerOf(worker)?.remove(worker);
    worker.tryMove('disconnected');
    registry.remove(worker);
    const reason = verdict.kind === 'lost' ? verdict.reason : 'it ended as it was told to';
    const inFlight = this.#letGo(worker, reason);
    observe({ kind: verdict.kind === 'lost' ? 'worker.lost' : 'worker.ended', workerId: worker.id, inFlight, reason });
    if (verdict.kind === 'ended') return;
    const request = replacementFor(worker, this.#othersActive(worker), 'worker-crash');
    scaleControl.requestWorker(wasPlaceholder ? { ...request, priority: 'normal' } : request);
  }

  /** What it had fails, and nothing of it is waited for any more. */
  #letGo(worker: FunctionWorker, reason: string): number {
    this.#crowded.get(worker)?.();
    this.#crowded.delete(worker);
    worker.failQuestions(reason);
    const inFlight = this.#options.tracker.failAllOf(worker.id, reason);
    this.#options.tracker.forget(worker.id);
    this.#options.jobHosts.unregister(worker.id);
    return inFlight;
  }

  #caughtUp(worker: FunctionWorker): void {
    const cancel = this.#crowded.get(worker);
    if (!cancel) return;
    cancel();
    this.#crowded.delete(worker);
    if (worker.is('unhealthy')) worker.move('ready');
    if (worker.is('ready')) this.#routerOf(worker)?.add(worker);
  }

  #routerOf(worker: FunctionWorker): InvocationRouter<FunctionWorker> | undefined {
    return worker.jobHostKey === undefined ? undefined : this.#options.jobHosts.get(worker.jobHostKey)?.router;
  }

  #othersActive(worker: FunctionWorker): number {
    const { applicationKey } = worker;
    if (applicationKey === undefined) return 0;
    return this.#options.registry.activeOf(applicationKey).filter((other) => other !== worker).length;
  }
}
