import { availableParallelism } from 'node:os';
import { sleep, type Clock, type Environment, type Observe } from '@drover/service-kit';
import type { FunctionDefinition, LocalWish } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { localUnavailableError } from './errors.js';
import { findHandlerFile } from './handler-file.js';
import { variablesProblem } from './handler-variables.js';
import { LocalPool } from './local-pool.js';
import type { LocalObservation } from './observations.js';
import { openLocalWorker } from './open-local-worker.js';
import { localBusy, localUnavailable } from './to-attempt-result.js';

export interface LocalDispatcherOptions {
  /** The folder of handlers; without it nothing runs here. */
  readonly directory: string | undefined;
  readonly driver: 'processes' | 'threads';
  /** Functions that may have workers at the same time. */
  readonly maxPools: number;
  /** A function without a call for this long loses its workers. */
  readonly idleMs: number;
  /** Of this process; handlers see of it how programs are found, and little else. */
  readonly environment: Environment;
  readonly clock: Clock;
  readonly observe: Observe<LocalObservation>;
  /** Workers of one function at most; as many as the machine runs at once unless told. */
  readonly maxWorkers?: number;
  readonly stuckMs?: number;
  readonly lingerMs?: number;
}

/** How often a drain looks whether the last call is over. */
const drainMs = 10;

/** Runs handlers of this host's folder in isolated workers, those of each function in its own. */
export class LocalDispatcher implements Dispatcher {
  readonly name = 'local functions';
  readonly mode = 'LOCAL';
  readonly #options: LocalDispatcherOptions;
  readonly #pools = new Map<string, LocalPool>();
  /** No longer for new calls. */
  readonly #retired = new Set<LocalPool>();
  #cancelSweep: (() => void) | undefined;
  #isStopped = false;

  constructor(options: LocalDispatcherOptions) {
    this.#options = options;
  }

  /** What keeps this definition from running here, in words; undefined when nothing does. */
  async problemOf({ name, handler, env }: LocalWish): Promise<string | undefined> {
    const found = await findHandlerFile(this.#options.directory, handler ?? `${name}.js`);
    return 'problem' in found ? found.problem : variablesProblem(Object.keys(env));
  }

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    const { definition } = attempt;
    const pool = this.#pools.get(keyOf(definition)) ?? this.#open(definition);
    return 'kind' in pool ? Promise.resolve(pool) : pool.run(attempt);
  }

  /** Its workers go after what they have in hand. */
  forget(definition: FunctionDefinition): void {
    const key = keyOf(definition);
    const pool = this.#pools.get(key);
    if (pool) this.#retire(key, pool, 'the function was changed or removed');
  }

  async start(): Promise<void> {
    this.#isStopped = false;
  }

  async drain(deadline: AbortSignal): Promise<void> {
    const isBusy = (): boolean => this.#all().some(({ wanted }) => wanted > 0);
    while (isBusy() && !deadline.aborted) await sleep(this.#options.clock, drainMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    const all = this.#all();
    this.#pools.clear();
    await Promise.all(all.map((pool) => pool.close()));
    this.#retired.clear();
  }

  /** Of workers that are there now, for whoever looks after the machine. */
  get pids(): number[] {
    return this.#all().flatMap(({ pids }) => pids);
  }

  #open(definition: FunctionDefinition): LocalPool | AttemptResult {
    if (this.#isStopped) return localUnavailable('this process is stopping');
    if (this.#pools.size >= this.#options.maxPools && !this.#makeRoom())
      return localBusy('as many functions as may have workers here are at work');
    const { clock, observe, stuckMs = 2_000, lingerMs = 10_000 } = this.#options;
    const { maxWorkers = availableParallelism() } = this.#options;
    const { tenantId, name } = definition;
    const pool = new LocalPool({
      tenantId,
      functionName: name,
      open: () => this.#openWorker(definition),
      maxWorkers,
      limits: { stuckMs, lingerMs },
      clock,
      observe,
    });
    this.#pools.set(keyOf(definition), pool);
    observe({ kind: 'local.opened', tenantId, function: name });
    this.#sweepLater();
    return pool;
  }

  async #openWorker(definition: FunctionDefinition) {
    const { directory, driver, environment, observe } = this.#options;
    const { tenantId, name } = definition;
    // Looked for at every start: what is in the folder may have changed.
    const found = await findHandlerFile(directory, definition.handler ?? `${name}.js`);
    if ('problem' in found) throw localUnavailableError(found);
    return openLocalWorker({
      driver,
      environment,
      definition,
      found,
      onLines: (lines) => {
        for (const [level, text, executionId] of lines)
          observe({ kind: 'local.line', tenantId, function: name, level, text, executionId: executionId ?? undefined });
      },
    });
  }

  /** The function that was called least recently, and has nothing to do, makes room. */
  #makeRoom(): boolean {
    let oldest: { readonly key: string; readonly pool: LocalPool } | undefined;
    for (const [key, pool] of this.#pools)
      if (pool.load === 0 && (!oldest || pool.lastUsedMs < oldest.pool.lastUsedMs)) oldest = { key, pool };
    if (!oldest) return false;
    this.#retire(oldest.key, oldest.pool, 'other functions need workers');
    return true;
  }

  #retire(key: string, pool: LocalPool, reason: string): void {
    this.#pools.delete(key);
    this.#retired.add(pool);
    this.#options.observe({ kind: 'local.closed', ...pool.of, reason });
    void pool.retire().then(() => this.#retired.delete(pool));
  }

  #sweepLater(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelSweep ??= clock.after(Math.max(1_000, idleMs / 10), () => {
      this.#cancelSweep = undefined;
      const nowMs = clock.monotonicMs();
      for (const [key, pool] of this.#pools) {
        if (pool.load === 0 && nowMs - pool.lastUsedMs >= idleMs)
          this.#retire(key, pool, 'nobody called it for a while');
        else pool.tidy(nowMs);
      }
      if (this.#pools.size > 0) this.#sweepLater();
    });
  }

  #all(): LocalPool[] {
    return [...this.#pools.values(), ...this.#retired];
  }
}

function keyOf({ tenantId, name, generation }: FunctionDefinition): string {
  return `${tenantId}/${name}/${generation}`;
}
