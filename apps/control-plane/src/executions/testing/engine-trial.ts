import { defaultTenantId, type AcceptedCall, type TenantId } from '@drover/contracts';
import { FakeClock, seededRandomness } from '@drover/testkit';
import type { Attempt, AttemptResult, Dispatcher, FunctionDefinition } from '@drover/dispatchers';
import type { FunctionCatalog } from '../../functions/function-catalog.js';
import { MemoryExecutionStore, type ExecutionOutcome } from '@drover/execution-store';
import type { EngineOptions, NewCall } from '../engine-options.js';
import { InvocationEngine } from '../engine.js';
import type { FunctionQueue } from '../function-queue.js';
import { OrphanedExecutions } from '../orphaned-executions.js';
import type { CallAnswer } from '../call-results.js';

export const ok: AttemptResult = { kind: 'success', output: { json: '"done"' } };
export const broken: Extract<AttemptResult, { kind: 'failed' }> = {
  kind: 'failed',
  code: 'POOL_ERROR',
  message: 'reset',
  transient: true,
};
export const thrown: AttemptResult = { kind: 'failed', code: 'EXECUTION_FAILED', message: 'boom', transient: false };

/** The endpoint cannot be reached. */
export const away = { ...broken, wasTurnedAway: true } as const;
/** The circuit breaker of the endpoint is open. */
export const refused = (pauseMs: number): AttemptResult => ({ ...away, retryAfterMs: pauseMs, queuePauseMs: pauseMs });

/** An attempt that the test ends. */
export interface ScriptedRun {
  readonly attempt: Attempt;
  readonly abandoned: string[];
  end(result?: AttemptResult): Promise<void>;
}

class ScriptedDispatcher implements Dispatcher {
  readonly name = 'scripted';
  readonly mode = 'POOL';
  readonly runs: ScriptedRun[] = [];
  readonly forgotten: FunctionDefinition[] = [];
  /** Answers attempts instead of the test. */
  respond: ((attempt: Attempt) => AttemptResult) | undefined;

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    if (this.respond) return Promise.resolve(this.respond(attempt));
    return new Promise((resolve) => {
      const abandoned: string[] = [];
      attempt.onAbandoned((reason) => abandoned.push(reason));
      this.runs.push({
        attempt,
        abandoned,
        async end(result = ok) {
          resolve(result);
          await settled();
        },
      });
    });
  }

  forget(definition: FunctionDefinition): void {
    this.forgotten.push(definition);
  }

  async start(): Promise<void> {}
  async drain(): Promise<void> {}
  async stop(): Promise<void> {}
}

/** Resolves when pending promises and the current turn of the event loop are done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** An engine whose attempts the test ends. */
export class EngineTrial {
  readonly clock = new FakeClock();
  readonly dispatcher = new ScriptedDispatcher();
  readonly store: MemoryExecutionStore;
  readonly orphans = new OrphanedExecutions();
  readonly engine: InvocationEngine;
  readonly results: { accepted: AcceptedCall; outcome: ExecutionOutcome }[] = [];
  isOwner = true;
  readonly #definitions = new Map<string, FunctionDefinition>();
  #notify: Parameters<FunctionCatalog['onChange']>[0] = () => undefined;
  #generation = 0;

  constructor(
    options: Partial<EngineOptions['limits']> & {
      readonly ttlMs?: number;
      readonly storeBytes?: number;
      readonly lifetimeMs?: number;
    } = {},
  ) {
    const { ttlMs = 60_000, storeBytes = 1_000_000, lifetimeMs = 600_000, ...limits } = options;
    const { clock, dispatcher } = this;
    this.store = new MemoryExecutionStore({ ttlMs, deadLetterTtlMs: ttlMs, maxBytes: storeBytes, clock });
    this.engine = new InvocationEngine({
      catalog: {
        peek: (tenantId, name) => this.#definitions.get(`${tenantId}/${name}`),
        find: async (tenantId, name) => this.#definitions.get(`${tenantId}/${name}`),
        onChange: (listener) => (this.#notify = listener),
      },
      dispatchers: { LOCAL: dispatcher, POOL: dispatcher, REMOTE: dispatcher, APP: dispatcher },
      store: this.store,
      orphans: this.orphans,
      isOwner: () => this.isOwner,
      limits: { maxBytes: 1_000_000, maxScheduled: 10, maxKeys: 100, maxInFlight: 100, ...limits },
      tickMs: 1,
      lifetimeMs,
      keyTtlMs: ttlMs,
      callbackBaseUrl: () => 'http://here',
      onResult: (accepted, _url, outcome) => this.results.push({ accepted, outcome }),
      clock,
      randomness: seededRandomness(1),
      observe: () => undefined,
    });
  }

  get runs(): readonly ScriptedRun[] {
    return this.dispatcher.runs;
  }

  /** The attempt that was started last. */
  get last(): ScriptedRun {
    const run = this.runs.at(-1);
    if (!run) throw new Error('nothing was dispatched');
    return run;
  }

  /** Registers the function, in a new generation if it exists. */
  async register(
    name: string,
    over: Partial<FunctionDefinition> = {},
    tenantId: TenantId = defaultTenantId,
  ): Promise<FunctionQueue> {
    this.#generation += 1;
    const definition: FunctionDefinition = {
      tenantId,
      name,
      generation: this.#generation,
      revision: 1,
      mode: 'POOL',
      requestedMode: 'POOL',
      timeoutMs: 1_000,
      concurrency: 1,
      queueSize: 10,
      maxRetries: 3,
      retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 1_000, windowMs: 600_000 },
      env: {},
      spec: { name },
      ...over,
    };
    this.#set(definition.tenantId, name, definition);
    const queue = await this.engine.openQueue(tenantId, name);
    if (!queue) throw new Error('no queue');
    return queue;
  }

  patch(queue: FunctionQueue, over: Partial<FunctionDefinition>): void {
    this.#set(queue.tenantId, queue.name, { ...queue.definition, ...over, revision: queue.definition.revision + 1 });
  }

  remove(queue: FunctionQueue): void {
    this.#definitions.delete(`${queue.tenantId}/${queue.name}`);
    this.#notify(queue.tenantId, queue.name, undefined);
  }

  /** Calls the function and collects the answers. */
  invoke(
    queue: FunctionQueue,
    call: Partial<NewCall> = {},
    budgetMs = 1_000,
  ): { answers: CallAnswer[]; leave: () => void } {
    const answers: CallAnswer[] = [];
    const leave = this.engine.invoke(queue, { payload: { json: '1' }, ...call }, budgetMs, (answer) =>
      answers.push(answer),
    );
    return { answers, leave };
  }

  async enqueue(queue: FunctionQueue, call: Partial<NewCall> = {}): Promise<string> {
    const accepted = await this.engine.enqueue(queue, { payload: { json: '1' }, ...call });
    if ('refusal' in accepted) throw accepted.refusal.error;
    return accepted.executionId;
  }

  #set(tenantId: TenantId, name: string, definition: FunctionDefinition): void {
    this.#definitions.set(`${tenantId}/${name}`, definition);
    this.#notify(tenantId, name, definition);
  }
}
