import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Clock, Environment, Observe } from '@drover/service-kit';
import {
  childProcess,
  createPool,
  WorkerCrashedError,
  workerThreads,
  type PoolOptions,
  type WorkerPool,
} from '@drover/isolated-workers';
import { childEnvironment } from '../child-environment.js';
import type { Attempt, AttemptResult } from '../dispatcher.js';
import type { FunctionDefinition } from '../function-definition.js';
import type { FunctionsUser } from '../functions-user.js';
import {
  findHandlerFile,
  localUnavailableError,
  localWorkerScript,
  mayHandlerHave,
  type HandlerFile,
} from './handler-checks.js';
import type { LocalHostMessages, LocalMessages, LocalWorkerData, RunPayload, RunReply } from './local-messages.js';
import type { LocalObservation } from './observations.js';
import { fromReply, fromWorkerError, localAbandoned, localUnavailable } from './to-attempt-result.js';

export interface LocalFunctionOptions {
  readonly definition: FunctionDefinition;
  /** The folder of handlers. Without it no handler runs. */
  readonly directory: string | undefined;
  readonly driver: 'processes' | 'threads';
  /** The environment of this process; handlers get the shared part of it. */
  readonly environment: Environment;
  /** The user that worker processes run as. Undefined: the user of this process. Threads always share it. */
  readonly user?: FunctionsUser | undefined;
  readonly clock: Clock;
  readonly observe: Observe<LocalObservation>;
  /** Maximum number of workers of one function. Default: `availableParallelism()`. */
  readonly maxWorkers?: number;
  /** How long after a cancellation the event loop of the worker must have turned. */
  readonly stuckMs?: number;
  /** How long after a cancellation the handler may run on. */
  readonly lingerMs?: number;
}

/** An attempt that waits for the pool. */
interface WaitingAttempt {
  readonly attempt: Attempt;
  readonly resolve: (result: AttemptResult | Promise<AttemptResult>) => void;
  cancel: () => void;
}

/** The same limit as for the output of a job. */
const maxOutputBytes = 8 * 1_024 * 1_024;
/** A function whose handler cannot be loaded or whose workers cannot be started is not tried again for this long. */
const restMs = 1_000;
/** A worker beside the first ends after this long without a call. */
const spareIdleMs = 60_000;
/** The engine applies the time limits. */
const noLimit = { timeout: 0 } as const;

/**
 * The workers of one incarnation of a function. They run the handler of this function for this tenant and nothing else.
 *
 * - opening: the handler file is searched and the pool created; attempts wait.
 * - open: attempts go to the pool.
 * - resting: the handler cannot be loaded. Attempts fail with the reason until `restMs` are over; the next one opens again.
 * - closed: attempts fail as unavailable. Entered by `retire` and `close`.
 */
export class LocalFunction {
  readonly #options: LocalFunctionOptions;
  #definition: FunctionDefinition;
  /** What workers of the definition are started with. */
  #launchedWith: string;
  #pool: WorkerPool<LocalMessages> | undefined;
  #opening: Promise<void> | undefined;
  #waiting: WaitingAttempt[] = [];
  #rest: { readonly result: AttemptResult; readonly untilMs: number } | undefined;
  /** The one above, and those that end after their last attempt. */
  readonly #pools = new Set<WorkerPool<LocalMessages>>();
  #isClosed = false;
  lastUsedMs: number;

  constructor(options: LocalFunctionOptions) {
    this.#options = options;
    this.#definition = options.definition;
    this.#launchedWith = launchOf(options.definition);
    this.lastUsedMs = options.clock.monotonicMs();
  }

  /** The fields of observations that name the function. */
  get labels(): { readonly tenantId: string; readonly function: string } {
    const { tenantId, name } = this.#options.definition;
    return { tenantId, function: name };
  }

  /** True when no attempt waits or runs, and no abandoned handler runs on. */
  get isIdle(): boolean {
    return !this.isBusy && [...this.#pools].every((pool) => pool.stats().abandoned === 0);
  }

  /** True while an attempt waits for its result. */
  get isBusy(): boolean {
    if (this.#waiting.length > 0) return true;
    for (const pool of this.#pools) {
      const { busy, pending } = pool.stats();
      if (busy > 0 || pending > 0) return true;
    }
    return false;
  }

  get pids(): number[] {
    return [...this.#pools].flatMap(({ pids }) => pids);
  }

  run(attempt: Attempt): Promise<AttemptResult> {
    const nowMs = this.#options.clock.monotonicMs();
    this.lastUsedMs = nowMs;
    if (attempt.definition !== this.#definition) this.#adopt(attempt.definition);
    if (this.#rest) {
      if (nowMs < this.#rest.untilMs) return Promise.resolve(this.#rest.result);
      this.#rest = undefined;
    }
    return this.#pool ? this.#send(this.#pool, attempt) : this.#wait(attempt);
  }

  /** Ends the workers after their last attempt; no more may come. Resolves when all are gone. */
  async retire(): Promise<void> {
    this.#isClosed = true;
    await this.#opening;
    await Promise.all([...this.#pools].map((pool) => pool.drain()));
    await this.close();
  }

  /** Ends the workers now. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve(localUnavailable('this process is stopping'));
    await this.#opening;
    this.#pool = undefined;
    await Promise.all([...this.#pools].map((pool) => pool.close()));
    this.#pools.clear();
  }

  #send(pool: WorkerPool<LocalMessages>, attempt: Attempt): Promise<AttemptResult> {
    const request = pool.request('run', toPayload(attempt, this.#options.clock.now()), noLimit);
    attempt.onAbandoned(() => request.cancel(localAbandoned));
    return request.answer.then(this.#answered, this.#failed);
  }

  /** One function for all calls, like `#failed`: a closure for each would cost more. */
  readonly #answered = (reply: RunReply): AttemptResult => {
    const result = fromReply(reply);
    if (typeof reply !== 'string' && reply[0] === 'broken') this.#break(result);
    return result;
  };

  readonly #failed = (error: unknown): AttemptResult => {
    if (error === localAbandoned) return localAbandoned;
    const result = fromWorkerError(error);
    if (error instanceof WorkerCrashedError && !error.endedByHost)
      this.#options.observe({ kind: 'local.crashed', ...this.labels, text: result.message });
    return result;
  };

  #wait(attempt: Attempt): Promise<AttemptResult> {
    if (this.#isClosed) return Promise.resolve(localUnavailable('this process is stopping'));
    return new Promise((resolve) => {
      const waiting: WaitingAttempt = {
        attempt,
        resolve,
        cancel: () => {
          this.#waiting = this.#waiting.filter((other) => other !== waiting);
          resolve(localAbandoned);
        },
      };
      this.#waiting.push(waiting);
      attempt.onAbandoned(() => waiting.cancel());
      this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    });
  }

  /** Never rejects. The handler is searched each time: the folder may have changed. */
  async #open(): Promise<void> {
    const { directory, driver, user } = this.#options;
    const { name, handler } = this.#definition;
    try {
      const as = driver === 'processes' ? user : undefined;
      const found = await findHandlerFile(directory, handler ?? `${name}.js`, as);
      if ('problem' in found) throw localUnavailableError(found);
      const launchedWith = this.#launchedWith;
      const pool = await createPool<LocalMessages, LocalHostMessages>(this.#poolOptions(found));
      this.#pools.add(pool);
      this.#pool = pool;
      // The function was changed while the pool was created: the attempts that wait get another one.
      if (launchedWith !== this.#launchedWith) {
        this.#retirePool();
        if (!this.#isClosed) return await this.#open();
      }
      for (const { attempt, resolve } of this.#waiting.splice(0)) resolve(this.#send(pool, attempt));
    } catch (error) {
      this.#break(fromWorkerError(error));
    }
  }

  /** Fails attempts with this result for a while. The workers end after their last attempt; others load the handler again. */
  #break(result: AttemptResult): void {
    const pool = this.#pool;
    if (this.#rest && !pool) return; // several attempts of the same worker report the same problem
    const { clock, observe } = this.#options;
    this.#rest = { result, untilMs: clock.monotonicMs() + restMs };
    for (const { resolve } of this.#waiting.splice(0)) resolve(result);
    observe({ kind: 'local.useless', ...this.labels, text: 'message' in result ? result.message : result.kind });
    this.#retirePool();
  }

  /**
   * The function was changed while it has workers. They cannot change what they were started with, so that attempts from now on get
   * others, while the running attempts end where they are; another concurrency only resizes the pool.
   */
  #adopt(definition: FunctionDefinition): void {
    const former = this.#launchedWith;
    this.#definition = definition;
    this.#launchedWith = launchOf(definition);
    if (former === this.#launchedWith) this.#pool?.resize(this.#limits());
    else {
      this.#rest = undefined;
      this.#retirePool();
    }
  }

  #retirePool(): void {
    const pool = this.#pool;
    this.#pool = undefined;
    void pool
      ?.drain()
      .then(() => pool.close())
      .then(() => this.#pools.delete(pool));
  }

  #limits(): { readonly size: number; readonly concurrencyPerWorker: number } {
    const { maxWorkers = availableParallelism() } = this.#options;
    const { concurrency } = this.#definition;
    const size = Math.min(concurrency, maxWorkers);
    return { size, concurrencyPerWorker: Math.ceil(concurrency / size) };
  }

  #poolOptions(found: Extract<HandlerFile, { readonly file: string }>): PoolOptions<LocalMessages, LocalHostMessages> {
    const { driver, environment, user, observe, stuckMs = 2_000, lingerMs = 10_000 } = this.#options;
    const { labels } = this;
    const definition = this.#definition;
    const isProcess = driver === 'processes';
    const memoryMiB = definition.spec.resources?.limits?.memoryMiB;
    return {
      script: localWorkerScript,
      driver: isProcess ? childProcess : workerThreads,
      env: childEnvironment(environment, definition.env, mayHandlerHave),
      inheritEnv: false, // secrets of this process stay in this process
      ...(isProcess && user && { user }),
      execArgv: [], // flags of this process are not meant for handlers
      workerData: { ...found, functionName: definition.name, maxOutputBytes } satisfies LocalWorkerData,
      // Log lines of handlers arrive as messages; the end of standard error is used to explain a crash.
      stdout: 'ignore',
      stderr: 'ignore',
      ...(memoryMiB !== undefined && (isProcess ? { hardMemoryLimitMb: memoryMiB } : { maxHeapMb: memoryMiB })),
      ...this.#limits(),
      minIdle: 0,
      minSize: 1,
      idleTimeoutMs: spareIdleMs,
      distribution: 'pack',
      batch: true,
      maxPending: Number.POSITIVE_INFINITY, // bounded by the concurrency of the function
      cancellation: { acknowledgeMs: stuckMs, finishMs: lingerMs },
      quarantine: { afterKills: 0 }, // every payload has an id of its own, and the engine counts attempts
      restart: { max: 5, periodMs: 10_000, delayMs: 50, maxDelayMs: 1_000 },
      replacement: { max: 0, periodMs: restMs },
      closeGraceMs: 1_000,
      events: {
        onUnresponsive: () => observe({ kind: 'local.stuck', ...labels }),
        onUnavailable: ({ message }) => observe({ kind: 'local.useless', ...labels, text: message }),
      },
      hostHandlers: {
        lines: (lines) => {
          for (const [level, text, executionId] of lines)
            observe({ kind: 'local.line', ...labels, level, text, executionId: executionId ?? undefined });
        },
      },
      logLevel: 'silent',
    };
  }
}

/** Returns what a worker of this definition is started with, to compare. Variables that cannot be decrypted fail at the start. */
function launchOf({ handler, spec, env }: FunctionDefinition): string {
  const values = Object.entries(env).map(([name, secret]) => {
    try {
      return [name, secret.reveal()];
    } catch {
      return [name];
    }
  });
  // A digest, so that the values are not held in memory.
  const text = JSON.stringify([handler, spec.resources?.limits?.memoryMiB, values]);
  return createHash('sha256').update(text).digest('base64');
}

function toPayload(attempt: Attempt, now: number): RunPayload {
  const { payload, executionId, traceId, traceparent, metadata, headers, idempotencyKey } = attempt.accepted;
  return [
    payload.json,
    payload.encoding === 'base64',
    executionId,
    attempt.number,
    now + attempt.timeoutMs,
    traceId ?? null,
    traceparent ?? null,
    metadata ?? null,
    headers ?? null,
    idempotencyKey ?? null,
  ];
}
