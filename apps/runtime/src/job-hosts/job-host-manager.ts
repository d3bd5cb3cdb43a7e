import type { StreamingMessage } from '@drover/function-rpc';
import { jobHostFailed } from '../errors.js';
import type { MessageTarget } from '../workers/message-target.js';
import type { JobHost } from './job-host.js';
import { WorkerRoute } from './worker-route.js';

interface JobHostManagerOptions {
  /** Buffered log lines per worker during a cut-over; further ones are dropped. */
  readonly maxHeldLogs: number;
  readonly onDroppedLog: (workerId: string) => void;
  /** Receives the messages of placeholders. */
  readonly placeholders: MessageTarget;
}

/**
 * Owns the job hosts and the message route of each worker, so that the cut-over of a worker between job hosts is one step.
 * A key maps to the promise of a started job host, so a job host that fails to start is never handed out.
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

  /** Resolves with the started job host of a key. Calls `make` if there is none. */
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

  /** Registers a new worker. Its messages go to the target of placeholders until `switchTo`. */
  register(workerId: string): void {
    const route = new WorkerRoute(workerId, this.#options.maxHeldLogs, this.#options.onDroppedLog);
    this.#routes.set(workerId, route);
    route.turnTo(this.#options.placeholders);
  }

  unregister(workerId: string): void {
    this.#routes.get(workerId)?.hold();
    this.#routes.delete(workerId);
  }

  /** Passes a message of a worker to its job host. Returns false if the worker is not registered. */
  route(workerId: string, message: StreamingMessage): boolean {
    const route = this.#routes.get(workerId);
    route?.pass(message);
    return route !== undefined;
  }

  /**
   * Moves a worker to a job host. Its messages are buffered until the job host has started. If the start fails, the worker
   * returns to its previous target.
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
