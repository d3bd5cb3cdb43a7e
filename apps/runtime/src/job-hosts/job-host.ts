import type { StreamingMessage } from '@drover/function-rpc';
import type { Lifecycle, Observe } from '@drover/service-kit';
import type { TriggerListener } from '@drover/trigger-sources';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { MessageTarget } from '../workers/message-target.js';
import type { JobHostObservation } from './job-host-observations.js';
import { jobHostStates } from './job-host-states.js';

/**
 * - saturated: no function worker has a free slot
 * - memory: the runtime is short of memory
 * - drain: an administrator drains the application
 */
type PauseReason = 'saturated' | 'memory' | 'drain';

/** A function whose trigger has a listener. */
export interface HostedTrigger {
  readonly functionName: string;
  /** As the app spells it. */
  readonly type: string;
  readonly listener: TriggerListener;
}

interface JobHostOptions {
  readonly key: string;
  readonly functions: readonly FunctionDefinition[];
  readonly router: InvocationRouter<FunctionWorker>;
  /** The router of isolated workers: for invocations that may have ended a worker. */
  readonly isolated: InvocationRouter<FunctionWorker>;
  readonly triggers: readonly HostedTrigger[];
  /** Runs before a new worker takes work; undefined if the application has no warmup trigger. */
  readonly warmUp?: { run(worker: FunctionWorker): Promise<void> } | undefined;
  /** Closed after the listeners: connections of inputs and outputs. */
  readonly extensions: { close(): Promise<void> };
  /** Receives the messages of its workers. */
  readonly messages: MessageTarget;
  readonly observe: Observe<JobHostObservation>;
}

/**
 * One application in one metadata version: its functions, their trigger listeners, and the router of its workers. Listeners
 * are paused while at least one reason to pause exists; a reason ends only by `resume` with that reason.
 */
export class JobHost implements Lifecycle, MessageTarget {
  readonly name: string;
  readonly key: string;
  readonly functions: ReadonlyMap<string, FunctionDefinition>;
  readonly router: InvocationRouter<FunctionWorker>;
  readonly triggers: readonly HostedTrigger[];
  readonly #isolated: InvocationRouter<FunctionWorker>;
  readonly #listeners: readonly TriggerListener[];
  readonly #extensions: JobHostOptions['extensions'];
  readonly #warmUp: JobHostOptions['warmUp'];
  readonly #messages: MessageTarget;
  readonly #observe: Observe<JobHostObservation>;
  readonly #state = jobHostStates.start('created');
  readonly #pauses = new Set<PauseReason>();
  #onFailed: (error: unknown) => void = () => undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: JobHostOptions) {
    this.name = `job host ${options.key}`;
    this.key = options.key;
    this.functions = new Map(options.functions.map((definition) => [definition.name.toLowerCase(), definition]));
    this.router = options.router;
    this.#isolated = options.isolated;
    this.triggers = options.triggers;
    this.#listeners = options.triggers.map(({ listener }) => listener);
    this.#extensions = options.extensions;
    this.#warmUp = options.warmUp;
    this.#messages = options.messages;
    this.#observe = options.observe;
    options.router.onSaturation((isSaturated) => this.#saturationChanged(isSaturated));
  }

  get state(): (typeof jobHostStates.all)[number] {
    return this.#state.current;
  }

  /** Its listeners are paused because no function worker has a free slot. */
  get isSaturated(): boolean {
    return this.#pauses.has('saturated');
  }

  routerOf({ isIsolated }: FunctionWorker): InvocationRouter<FunctionWorker> {
    return isIsolated ? this.#isolated : this.router;
  }

  /** Resolves when a new worker may take work. */
  async warmUp(worker: FunctionWorker): Promise<void> {
    await this.#warmUp?.run(worker);
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#state.move('starting');
    await Promise.all(this.#listeners.map((listener) => listener.start(signal)));
    this.#state.move('running');
    this.pause('saturated'); // until the first worker is added to the router
    for (const listener of this.#listeners) void listener.broken.then((error) => this.#fail(error));
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.drain(deadline)));
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  pause(reason: PauseReason): void {
    const wasPaused = this.#pauses.size > 0;
    this.#pauses.add(reason);
    if (!wasPaused) for (const listener of this.#listeners) listener.pause();
  }

  resume(reason: PauseReason): void {
    if (!this.#pauses.delete(reason) || this.#pauses.size > 0) return;
    for (const listener of this.#listeners) listener.resume();
  }

  /** Calls back once if a listener breaks while this job host runs. */
  onFailed(callback: (error: unknown) => void): void {
    this.#onFailed = callback;
  }

  receive(workerId: string, message: StreamingMessage): void {
    this.#messages.receive(workerId, message);
  }

  #saturationChanged(isSaturated: boolean): void {
    this.#observe({ kind: 'job-host.saturated', jobHost: this.key, isSaturated });
    if (isSaturated) this.pause('saturated');
    else this.resume('saturated');
  }

  #fail(error: unknown): void {
    if (!this.#state.is('running')) return;
    this.#state.move('failed');
    this.#onFailed(error);
  }

  async #stop(): Promise<void> {
    if (!this.#state.is('stopping', 'stopped')) this.#state.move('stopping');
    await Promise.all(this.#listeners.map((listener) => listener.stop()));
    await this.#extensions.close();
    this.router.stop();
    this.#isolated.stop();
    this.#state.move('stopped');
  }
}
