import type { StreamingMessage } from '@drover/function-rpc';
import type { Lifecycle } from '@drover/service-kit';
import type { TriggerListener } from '@drover/trigger-sources';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { MessageTarget } from '../workers/message-target.js';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import { jobHostStates } from './job-host-states.js';

export interface JobHostOptions {
  readonly key: string;
  readonly functions: readonly FunctionDefinition[];
  readonly router: InvocationRouter<FunctionWorker>;
  /** One for each function that has a source to listen to. */
  readonly listeners: readonly TriggerListener[];
  /** Takes what its workers say. */
  readonly messages: MessageTarget;
}

/** One application in one metadata version: its functions, where their events come from, and the workers that run them. */
export class JobHost implements Lifecycle, MessageTarget {
  readonly name: string;
  readonly key: string;
  readonly functions: ReadonlyMap<string, FunctionDefinition>;
  readonly router: InvocationRouter<FunctionWorker>;
  readonly #listeners: readonly TriggerListener[];
  readonly #messages: MessageTarget;
  readonly #state = jobHostStates.start('created');
  #pauses = 0;
  #onFailed: (error: unknown) => void = () => undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: JobHostOptions) {
    this.name = `job host ${options.key}`;
    this.key = options.key;
    this.functions = new Map(options.functions.map((definition) => [definition.name.toLowerCase(), definition]));
    this.router = options.router;
    this.#listeners = options.listeners;
    this.#messages = options.messages;
  }

  get state(): (typeof jobHostStates.all)[number] {
    return this.#state.current;
  }

  get listeners(): readonly TriggerListener[] {
    return this.#listeners;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#state.move('starting');
    await Promise.all(this.#listeners.map((listener) => listener.start(signal)));
    this.#state.move('running');
    // Nobody is there yet to run what they bring.
    this.pause();
    for (const listener of this.#listeners) void listener.broken.then((error) => this.#fail(error));
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.drain(deadline)));
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  /** Nothing new comes in until as many `resume` as `pause` were called. */
  pause(): void {
    this.#pauses += 1;
    if (this.#pauses === 1) for (const listener of this.#listeners) listener.pause();
  }

  resume(): void {
    if (this.#pauses === 0) return;
    this.#pauses -= 1;
    if (this.#pauses === 0) for (const listener of this.#listeners) listener.resume();
  }

  /** Calls back once if a listener breaks while this job host runs. */
  onFailed(callback: (error: unknown) => void): void {
    this.#onFailed = callback;
  }

  receive(workerId: string, message: StreamingMessage): void {
    this.#messages.receive(workerId, message);
  }

  #fail(error: unknown): void {
    if (!this.#state.is('running')) return;
    this.#state.move('failed');
    this.#onFailed(error);
  }

  async #stop(): Promise<void> {
    if (!this.#state.is('stopping', 'stopped')) this.#state.move('stopping');
    await Promise.all(this.#listeners.map((listener) => listener.stop()));
    this.router.stop();
    this.#state.move('stopped');
  }
}
