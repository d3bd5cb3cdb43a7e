import { sleep } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { findHandlerFile, variablesProblem } from './handler-checks.js';
import { LocalFunction, type LocalFunctionOptions } from './local-function.js';
import { localBusy, localUnavailable } from './to-attempt-result.js';

export interface LocalDispatcherOptions extends Omit<LocalFunctionOptions, 'definition'> {
  /** Functions that may have workers at the same time. */
  readonly maxPools: number;
  /** Ends the workers of a function that was not called for this long. */
  readonly idleMs: number;
}

/** The fields of a definition that decide whether it can run here. */
export type LocalRequirements = Pick<FunctionDefinition, 'name' | 'handler'> & {
  readonly env: Readonly<Record<string, unknown>>;
};

/** How often `drain` checks whether the last attempt has ended. */
const drainMs = 10;

/** Runs handlers of this host's folder in isolated workers. Each function has a pool of its own. */
export class LocalDispatcher implements Dispatcher {
  readonly name = 'local functions';
  readonly mode = 'LOCAL';
  readonly #options: LocalDispatcherOptions;
  readonly #functions = new Map<string, LocalFunction>();
  /** Get no new attempts and end after their last one. */
  readonly #retired = new Set<LocalFunction>();
  #cancelSweep: (() => void) | undefined;
  #isStopped = false;

  constructor(options: LocalDispatcherOptions) {
    this.#options = options;
  }

  /** Returns what keeps this definition from running here, as a sentence for the caller; undefined when it can run. */
  async problemOf({ name, handler, env }: LocalRequirements): Promise<string | undefined> {
    const { directory, driver, user } = this.#options;
    const as = driver === 'processes' ? user : undefined;
    const found = await findHandlerFile(directory, handler ?? `${name}.js`, as);
    return 'problem' in found ? found.problem : variablesProblem(Object.keys(env));
  }

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    const { definition } = attempt;
    const local = this.#functions.get(keyOf(definition)) ?? this.#open(definition);
    return 'kind' in local ? Promise.resolve(local) : local.run(attempt);
  }

  forget(definition: FunctionDefinition): void {
    const key = keyOf(definition);
    const local = this.#functions.get(key);
    if (local) this.#retire(key, local, 'the function was changed or removed');
  }

  async start(): Promise<void> {
    this.#isStopped = false;
    const { directory, driver, user, observe } = this.#options;
    if (directory === undefined) return;
    const isPlatformUser = user === undefined || driver === 'threads';
    observe({ kind: 'local.enabled', isPlatformUser, uid: isPlatformUser ? process.getuid?.() : user.uid });
  }

  async drain(deadline: AbortSignal): Promise<void> {
    const isBusy = (): boolean => this.#all().some((local) => local.isBusy);
    while (isBusy() && !deadline.aborted) await sleep(this.#options.clock, drainMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    const all = this.#all();
    this.#functions.clear();
    await Promise.all(all.map((local) => local.close()));
    this.#retired.clear();
  }

  /** Process ids of all workers. */
  get pids(): number[] {
    return this.#all().flatMap(({ pids }) => pids);
  }

  #open(definition: FunctionDefinition): LocalFunction | AttemptResult {
    const { maxPools, observe } = this.#options;
    if (this.#isStopped) return localUnavailable('this process is stopping');
    if (this.#functions.size >= maxPools && !this.#makeRoom())
      return localBusy(`${maxPools} other functions are running on this host, the maximum (DROVER_LOCAL_MAX_POOLS)`);
    const local = new LocalFunction({ ...this.#options, definition });
    this.#functions.set(keyOf(definition), local);
    observe({ kind: 'local.opened', ...local.labels });
    this.#scheduleSweep();
    return local;
  }

  /** Retires the idle function that was called least recently. Returns false when none is idle. */
  #makeRoom(): boolean {
    let oldest: { readonly key: string; readonly local: LocalFunction } | undefined;
    for (const [key, local] of this.#functions)
      if (local.isIdle && (!oldest || local.lastUsedMs < oldest.local.lastUsedMs)) oldest = { key, local };
    if (!oldest) return false;
    this.#retire(oldest.key, oldest.local, 'other functions need workers');
    return true;
  }

  #retire(key: string, local: LocalFunction, reason: string): void {
    this.#functions.delete(key);
    this.#retired.add(local);
    this.#options.observe({ kind: 'local.closed', ...local.labels, reason });
    void local.retire().then(() => this.#retired.delete(local));
  }

  #scheduleSweep(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelSweep ??= clock.after(Math.max(1_000, idleMs / 10), () => {
      this.#cancelSweep = undefined;
      const nowMs = clock.monotonicMs();
      for (const [key, local] of this.#functions)
        if (local.isIdle && nowMs - local.lastUsedMs >= idleMs)
          this.#retire(key, local, `it was not called for ${idleMs} ms`);
      if (this.#functions.size > 0) this.#scheduleSweep();
    });
  }

  #all(): LocalFunction[] {
    return [...this.#functions.values(), ...this.#retired];
  }
}

function keyOf({ tenantId, name, generation }: FunctionDefinition): string {
  return `${tenantId}/${name}/${generation}`;
}
