import type { StreamingMessage } from '@drover/function-rpc';
import { jobHostFailed } from '../errors.js';
import type { MessageTarget } from '../workers/message-target.js';
import type { JobHost } from './job-host.js';
import { WorkerRoute } from './worker-route.js';

interface JobHostManagerOptions {
  /** Logs of one worker that wait while nobody takes them; more are dropped. */
  readonly maxHeldLogs: number;
  readonly onDroppedLog: (workerId: string) => void;
  /** Takes what placeholders say. */
  readonly placeholders: MessageTarget;
}

/**
 * Owns the job hosts and the way of each worker's messages to its own: one place, so that a worker changes hands in one
 * step. What is stored for a key is the promise of a started job host, never one that may still fail to start.
 */
export class JobHostManager {
  readonly #options: JobHostManagerOptions;
  readonly #hosts = new Map<string, Promise<JobHost>>();
  readonly #running = new Map<string, JobHost>();
  readonly #routes = new Map<string, WorkerRoute>();

  constructor(options: JobHostManagerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  all(): JobHost[] {
    return [...this.#running.values()];
  }

  get(key: string): JobHost | undefined {
    return this.#running.get(key);
  }

  /** The job host of that key, started; `make` is called when there is none. */
  getOrCreate(key: string, make: () => JobHost): Promise<JobHost> {
    const known = this.#hosts.get(key);
    if (known) return known;
    const started = this.#start(key, make);
    this.#hosts.set(key, started);
    started.catch(() => {
      if (this.#hosts.get(key) === started) this.#hosts.delete(key);
    });
    return started;
  }

  async stop(key: string, deadline: AbortSignal): Promise<void> {
    const started = this.#hosts.get(key);
    this.#hosts.delete(key);
    const host = await started?.catch(() => undefined);
    if (!host) return;
    await host.drain(deadline);
    await host.stop();
    if (this.#running.get(key) === host) this.#running.delete(key);
  }

  /** A new worker: what it says goes to the placeholders until it is given to a job host. */
  register(workerId: string): void {
    const route = new WorkerRoute(workerId, this.#options.maxHeldLogs, this.#options.onDroppedLog);
    this.#routes.set(workerId, route);
    route.turnTo(this.#options.placeholders);
  }

  unregister(workerId: string): void {
    this.#routes.get(workerId)?.hold();
    this.#routes.delete(workerId);
  }

  /** A message of a worker, on to its job host. False when the worker is not registered. */
  route(workerId: string, message: StreamingMessage): boolean {
    const route = this.#routes.get(workerId);
    route?.pass(message);
    return route !== undefined;
  }

  /**
   * Gives a worker to a job host. While the job host is on its way, what the worker says waits; if it never comes up, the
   * worker stays where it was.
   */
  async switchTo(workerId: string, host: Promise<JobHost>): Promise<JobHost> {
    const route = this.#routes.get(workerId);
    const before = route?.target;
    route?.hold();
    try {
      const target = await host;
      route?.turnTo(target);
      return target;
    } catch (error) {
      if (before) route?.turnTo(before);
      throw error;
    }
  }

  async #start(key: string, make: () => JobHost): Promise<JobHost> {
    const host = make();
    try {
      await host.start(new AbortController().signal);
    } catch (error) {
      await host.stop();
      throw jobHostFailed({ jobHost: key, text: error instanceof Error ? error.message : String(error) }, error);
    }
    this.#running.set(key, host);
    return host;
  }
}
