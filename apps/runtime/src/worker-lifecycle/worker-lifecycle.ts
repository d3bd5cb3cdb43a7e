import { GrpcStatus, type StreamEnd, type StreamingMessage } from '@drover/function-rpc';
import { deadlineAfter, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { workerLost } from '../errors.js';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import type { InvocationTracker, TrackedInvocation } from '../invocations/invocation-tracker.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { AdmittedStream, StreamOwner } from '../rpc/stream-handshake.js';
import { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { ScaleControl, ScaleUpRequest } from '../workers/scale-control.js';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { WorkerSettings } from '../workers/worker-settings.js';
import { classifyStreamEnd, replacementFor } from './worker-losses.js';

interface WorkerLifecycleOptions {
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: InvocationTracker;
  readonly jobHosts: JobHostManager;
  readonly scaleControl: ScaleControl;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<FunctionWorkerObservation>;
}

/**
 * Moves workers from their arrival to their end. However a worker ends, the same steps happen once and in this order: it is
 * removed from routing, its invocations fail (which returns their messages to the source), a replacement is requested.
 */
export class WorkerLifecycle {
  readonly #options: WorkerLifecycleOptions;
  /** Workers whose stream is full, each with the function that cancels its timer. */
  readonly #full = new Map<FunctionWorker, () => void>();

  constructor(options: WorkerLifecycleOptions) {
    this.#options = options;
    options.tracker.onTimeout((invocation) => this.#timedOut(invocation));
  }

  /** Registers the worker of an admitted stream. Returns it with the owner that its stream reports to. */
  connect({ workerId, applicationKey, traits, announcedMs, stream }: AdmittedStream): {
    readonly worker: FunctionWorker;
    readonly owner: StreamOwner;
  } {
    const { clock, randomness, registry, jobHosts, observe, settings, scaleControl } = this.#options;
    const worker = new FunctionWorker({
      id: workerId,
      stream,
      clock,
      randomness,
      limit: settings.maxConcurrentInvocations,
      ...traits,
      announcedMs,
      onMove: (moved, change) => {
        observe({ kind: 'worker.moved', workerId: moved.id, ...change });
        scaleControl.recordMove(moved);
      },
    });
    worker.applicationKey = applicationKey;
    registry.add(worker);
    jobHosts.register(workerId);
    observe({ kind: 'worker.connected', workerId, application: applicationKey, address: stream.peer.address });
    const owner: StreamOwner = {
      receive: (message) => this.#receive(worker, message),
      ended: (end) => this.#streamEnded(worker, end),
      flushed: () => this.#streamFlushed(worker),
    };
    return { worker, owner };
  }

  /** Adds the worker to the router of its job host. */
  makeReady(worker: FunctionWorker): void {
    worker.start.readyMs = this.#options.clock.monotonicMs();
    worker.move('ready');
    this.#options.scaleControl.recordReady(worker.id);
    this.#routerOf(worker)?.add(worker);
  }

  /** Records that a send filled the stream of a worker. It gets no more invocations until the stream is flushed. */
  recordFull(worker: FunctionWorker): void {
    if (this.#full.has(worker)) return;
    const { clock, settings, observe, scaleControl } = this.#options;
    this.#routerOf(worker)?.remove(worker);
    observe({ kind: 'worker.backpressure', workerId: worker.id, queuedBytes: worker.stream.queuedBytes });
    this.#full.set(
      worker,
      clock.after(settings.backpressureMs, () => {
        if (!worker.tryMove('unhealthy')) return;
        scaleControl.requestWorker(replacementFor(worker, this.#othersActive(worker), 'backpressure'));
      }),
    );
  }

  /** Drains and ends a worker, and requests its replacement first. */
  async recycle(worker: FunctionWorker, reason: ScaleUpRequest['reason']): Promise<void> {
    const wasServing = worker.is('ready', 'unhealthy', 'specialized');
    if (!worker.tryMove('draining')) return;
    this.#routerOf(worker)?.remove(worker);
    if (wasServing)
      this.#options.scaleControl.requestWorker(replacementFor(worker, this.#othersActive(worker), reason));
    await this.#finish(worker);
  }

  /** Recycles all serving workers of a job host. */
  recycleAllOf(jobHostKey: string, reason: ScaleUpRequest['reason']): void {
    for (const worker of this.#options.registry.in('ready', 'unhealthy'))
      if (worker.jobHostKey === jobHostKey) void this.recycle(worker, reason);
  }

  /** Drains and ends a worker without a replacement. `deadline` cuts the drain short. */
  async retire(worker: FunctionWorker, deadline?: AbortSignal): Promise<void> {
    if (!worker.tryMove('draining')) return;
    this.#routerOf(worker)?.remove(worker);
    await this.#finish(worker, deadline);
  }

  /** Keeps an isolated worker of an application running. Returns false if none can be started. */
  isolate(applicationKey: string): boolean {
    return this.#options.scaleControl.isolate(applicationKey);
  }

  /** Retires the isolated worker of an application. */
  endIsolation(applicationKey: string): void {
    const { scaleControl, registry } = this.#options;
    scaleControl.endIsolation(applicationKey);
    for (const worker of registry.all())
      if (worker.isIsolated && worker.applicationKey === applicationKey) void this.retire(worker);
  }

  /** Retires the `count` ready workers that connected first. */
  retireOldest(count: number): void {
    const ready = this.#options.registry.in('ready');
    const oldest = ready.toSorted((one, other) => one.start.connectedMs - other.start.connectedMs).slice(0, count);
    for (const worker of oldest) void this.retire(worker);
  }

  /** Ends a worker that does not respond, without a drain. It stays registered for a while, so that late messages are known. */
  abandon(
    worker: FunctionWorker,
    reason: ScaleUpRequest['reason'],
    text: string,
    { replace = true }: { readonly replace?: boolean } = {},
  ): void {
    const { clock, settings, registry, scaleControl } = this.#options;
    worker.endReason ??= reason === 'specialization-failed' ? `${reason}: ${text}` : reason;
    if (!worker.tryMove('abandoned')) return;
    this.#routerOf(worker)?.remove(worker);
    this.#terminate(worker);
    this.#release(worker, text, { isCrash: reason === 'worker-hung' });
    if (replace) scaleControl.requestWorker(replacementFor(worker, this.#othersActive(worker), reason));
    scaleControl.endWorker(worker.id, text, 0);
    worker.stream.destroy(GrpcStatus.UNAVAILABLE, 'the worker was abandoned');
    clock.after(settings.abandonedMs, () => {
      worker.tryMove('disconnected');
      registry.remove(worker);
    });
  }

  async #finish(worker: FunctionWorker, latest?: AbortSignal): Promise<void> {
    const { clock, settings, tracker, observe, scaleControl } = this.#options;
    const deadline = deadlineAfter(clock, settings.drainTimeoutMs, latest);
    const isDrained = await tracker.whenIdle(worker.id, deadline.signal);
    deadline.cancel();
    if (!isDrained)
      observe({ kind: 'worker.drain-timeout', workerId: worker.id, inFlight: tracker.countOf(worker.id) });
    this.#terminate(worker);
    clock.after(settings.terminateGraceMs, () => {
      // Also after the stream ended: the process may have outlived it.
      scaleControl.endWorker(worker.id, 'it did not end after WorkerTerminate', 0);
      if (worker.is('disconnected')) return;
      worker.stream.destroy(GrpcStatus.UNAVAILABLE, 'the worker did not end after WorkerTerminate');
    });
  }

  #terminate(worker: FunctionWorker): void {
    worker.wasTerminated = true;
    if (!worker.can('HandlesWorkerTerminateMessage')) return worker.stream.end();
    const seconds = Math.ceil(this.#options.settings.terminateGraceMs / 1_000);
    worker.send({ kind: 'workerTerminate', value: { gracePeriod: { seconds } } });
  }

  /** After a timeout the state of the worker cannot be trusted, so it is recycled as configured. */
  #timedOut({ id, workerId }: TrackedInvocation): void {
    const { registry, settings } = this.#options;
    const worker = registry.get(workerId);
    if (!worker) return;
    worker.consecutiveTimeouts += 1;
    if (worker.can('HandlesInvocationCancelMessage'))
      worker.send({ kind: 'invocationCancel', value: { invocationId: id } });
    if (settings.recycleOnTimeout || worker.consecutiveTimeouts >= settings.recycleOnConsecutiveTimeouts)
      void this.recycle(worker, 'invocation-timeout');
  }

  #receive(worker: FunctionWorker, message: StreamingMessage): void {
    worker.heardMs = this.#options.clock.monotonicMs();
    if (worker.is('abandoned', 'disconnected')) return;
    if (message.kind !== 'rpcLog' && message.kind !== 'invocationResponse') {
      if (!worker.resolve(message))
        this.#options.observe({ kind: 'worker.unexpected', workerId: worker.id, message: message.kind ?? 'unknown' });
      return;
    }
    if (message.kind === 'invocationResponse') worker.consecutiveTimeouts = 0;
    this.#options.jobHosts.route(worker.id, message);
  }

  #streamEnded(worker: FunctionWorker, end: StreamEnd): void {
    const { registry, scaleControl, observe, settings } = this.#options;
    if (worker.is('abandoned')) return; // `abandon` has done all of this
    const wasPlaceholder = worker.is('placeholder', 'initializing');
    const verdict = classifyStreamEnd(end, worker.wasTerminated);
    const reason = verdict.kind === 'lost' ? verdict.reason : 'it was told to end';
    worker.endReason ??= reason;
    this.#routerOf(worker)?.remove(worker);
    worker.tryMove('disconnected');
    registry.remove(worker);
    const inFlight = this.#release(worker, reason, { isCrash: verdict.kind === 'lost' });
    observe({ kind: verdict.kind === 'lost' ? 'worker.lost' : 'worker.ended', workerId: worker.id, inFlight, reason });
    if (verdict.kind === 'ended') return;
    // A process without a stream can never serve again: its request id is used up. Its replacement starts when it has ended.
    scaleControl.endWorker(worker.id, reason, settings.lostGraceMs);
    const request = replacementFor(worker, this.#othersActive(worker), 'worker-crash');
    scaleControl.requestWorker(wasPlaceholder ? { ...request, priority: 'normal' } : request);
  }

  /** Fails the invocations and pending requests of a worker. Returns the number of failed invocations. */
  #release(worker: FunctionWorker, reason: string, loss: { readonly isCrash: boolean }): number {
    const { tracker, jobHosts } = this.#options;
    this.#full.get(worker)?.();
    this.#full.delete(worker);
    worker.failRequests(reason);
    const inFlight = tracker.failAllOf(worker.id, workerLost({ workerId: worker.id, reason }), loss);
    tracker.forget(worker.id);
    jobHosts.unregister(worker.id);
    return inFlight;
  }

  #streamFlushed(worker: FunctionWorker): void {
    const cancel = this.#full.get(worker);
    if (!cancel) return;
    cancel();
    this.#full.delete(worker);
    if (worker.is('unhealthy')) worker.move('ready');
    if (worker.is('ready')) this.#routerOf(worker)?.add(worker);
  }

  #routerOf(worker: FunctionWorker): InvocationRouter<FunctionWorker> | undefined {
    return worker.jobHostKey === undefined
      ? undefined
      : this.#options.jobHosts.get(worker.jobHostKey)?.routerOf(worker);
  }

  #othersActive(worker: FunctionWorker): number {
    const { applicationKey } = worker;
    if (applicationKey === undefined) return 0;
    return this.#options.registry.activeOf(applicationKey).filter((other) => other !== worker).length;
  }
}
