import { bytesOf, type AcceptedCall, isCodedError, type TenantId } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';
import type { ExecutionOutcome, UnfinishedExecution } from '@drover/execution-store';
import { ownerMoving, notKept, tooManyKeys } from './errors.js';
import { ExecutionIds } from './execution-ids.js';
import { SyncCallMetrics } from './function-metrics.js';
import { IdempotencyIndex, scopedKey, type IdempotencyEntry } from './idempotency-index.js';
import { toRepeatedResult, toEnqueueResult, type EnqueueResult } from './accepted.js';
import { refusalOf } from './admission.js';
import type { EngineOptions, NewCall } from './engine-options.js';
import { DurableWriter, answeredInTime } from './durable-writer.js';
import { ExecutionRunner } from './execution-runner.js';
import type { FunctionQueue } from './function-queue.js';
import { FunctionQueues } from './function-queues.js';
import { LiveExecutions } from './live-executions.js';
import { LiveExecution, type CallAnswer, type CallRefusal, type Waiter } from './live-execution.js';
import { Sweeper } from './sweeper.js';
import { RecentCalls, toRecentCall } from './recent-calls.js';

const recentLimits = { told: 1_000, others: 10_000, keepMs: 30_000 };
export const cancelledOnRequest = { code: 'EXECUTION_CANCELLED', message: 'it was cancelled on request' };

/**
 * All executions whose functions are at home here: takes calls in, runs them, tells their ends. It decides nothing with a wait
 * in the middle: between a look at a bound and the place taken under it nothing else can happen.
 */
export class InvocationEngine implements Lifecycle {
  readonly name = 'invocation engine';
  readonly sync = new SyncCallMetrics();
  readonly sweeper: Sweeper;
  readonly runner: ExecutionRunner;
  readonly live: LiveExecutions;
  readonly recent = new RecentCalls(recentLimits);
  readonly keys: IdempotencyIndex<LiveExecution>;
  readonly queues = new FunctionQueues();
  readonly #options: EngineOptions;
  readonly #ids: ExecutionIds;
  readonly #durableWriter: DurableWriter;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#ids = new ExecutionIds(options.randomness);
    this.live = new LiveExecutions(options.clock);
    this.keys = new IdempotencyIndex(options.limits.maxKeys);
    this.runner = new ExecutionRunner({
      ...options,
      maxInFlight: options.limits.maxInFlight,
      sync: this.sync,
      onEnded: (execution, outcome) => this.#ended(execution, outcome),
      onMoved: (execution) => this.drop(execution),
      onLost: (execution, error) => {
        options.observe({ kind: 'invocation.let-go', executionId: execution.accepted.executionId, error });
        this.drop(execution);
      },
    });
    this.#durableWriter = new DurableWriter({
      store: options.store,
      clock: options.clock,
      onStored: (executions) => this.#stored(executions),
      onFailed: (executions, error) => this.#notStored(executions, error),
    });
    this.sweeper = new Sweeper({ ...options, engine: this });
    options.catalog.onChange((tenantId, name, now) => this.#changed(tenantId, name, now));
  }

  async start(): Promise<void> {
    this.sweeper.start();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.sweeper.stop();
    this.dropAll([...this.live.all()]);
    this.runner.timetable.stop();
  }

  /** The queue of a function that has been called before. */
  findQueue(tenantId: TenantId, name: string): FunctionQueue | undefined {
    return this.queues.get(tenantId, name);
  }

  /** The queue of a function, opened if there is such a function. */
  async openQueue(tenantId: TenantId, name: string): Promise<FunctionQueue | undefined> {
    const known = this.findQueue(tenantId, name);
    if (known) return known;
    const { catalog, beforeUnknown } = this.#options;
    const definition =
      (await catalog.find(tenantId, name)) ??
      ((await beforeUnknown?.()) ? await catalog.find(tenantId, name) : undefined);
    return definition && this.queueFor(definition);
  }

  queueFor(definition: FunctionDefinition): FunctionQueue {
    const known = this.findQueue(definition.tenantId, definition.name);
    if (known?.generation === definition.generation) return known;
    if (known) this.close(known);
    return this.queues.add(definition);
  }

  /**
   * Calls a function for somebody who waits `budgetMs` for the answer. The returned function says that nobody waits any more.
   */
  invoke(queue: FunctionQueue, call: NewCall, budgetMs: number, answer: (answer: CallAnswer) => void): () => void {
    const known = this.#findByKey(queue, call.idempotencyKey);
    if (known?.kind === 'live') return this.#wait(known.live, budgetMs, answer);
    if (known) {
      void this.#recall(queue, known.executionId).then(answer);
      return nothing;
    }
    const refusal = this.#refusalOf(queue, call, { isScheduled: false, budgetMs });
    if (refusal) {
      this.sync.rejected += 1;
      answer({ kind: 'refused', refusal });
      return nothing;
    }
    const execution = this.#admit(queue, call, 'sync');
    this.sync.admitted += 1;
    const leave = this.#wait(execution, budgetMs, answer);
    if (!execution.isDurable) this.runner.enqueue(execution);
    else
      this.#durableWriter.write(queue.partition, [execution]).catch((error: unknown) => {
        // When it was refused, whoever waits has heard of it.
        if (leave() && isCodedError(error)) answer({ kind: 'refused', refusal: { error, retryAfterSeconds: 1 } });
      });
    return leave;
  }

  /** Accepts a call whose caller does not wait for the result. Resolves once it is durable; rejects when it cannot be stored. */
  enqueue(queue: FunctionQueue, call: NewCall): Promise<EnqueueResult> {
    const taken = this.#take(queue, call);
    const stored = taken.fresh ? this.#durableWriter.write(queue.partition, [taken.fresh]) : taken.stored;
    return stored ? stored.then(() => taken.accepted) : Promise.resolve(taken.accepted);
  }

  /** The same for many calls. Resolves in their order once all accepted ones are durable; rejects, and stores none, when that fails. */
  async enqueueAll(queue: FunctionQueue, calls: readonly NewCall[]): Promise<readonly EnqueueResult[]> {
    const all = calls.map((call) => this.#take(queue, call));
    const fresh = all.flatMap((taken) => taken.fresh ?? []);
    const awaited = all.flatMap(({ stored }) => stored ?? []);
    if (fresh.length > 0) awaited.push(this.#durableWriter.write(queue.partition, fresh));
    await Promise.all(awaited);
    return all.map(({ accepted }) => accepted);
  }

  #take(queue: FunctionQueue, call: NewCall): Taken {
    const { clock } = this.#options;
    const known = this.#findByKey(queue, call.idempotencyKey);
    if (known?.kind === 'ended') {
      const { executionId } = known;
      const taken: Taken = { accepted: { executionId, status: 'success' } };
      const recall = this.#recall(queue, executionId).then((answer) => (taken.accepted = toRepeatedResult(answer)));
      taken.stored = answeredInTime(clock, recall);
      return taken;
    }
    if (known) {
      // What another request is just making durable is not accepted before it is.
      const { pendingWrite } = known.live;
      return {
        accepted: toEnqueueResult(known.live),
        ...(pendingWrite && { stored: answeredInTime(clock, pendingWrite) }),
      };
    }
    const refusal = this.#refusalOf(queue, call, { isScheduled: this.live.isAhead(call.runAt) });
    if (refusal) return { accepted: { refusal } };
    const fresh = this.#admit(queue, call, 'async');
    return { accepted: toEnqueueResult(fresh), fresh };
  }

  /** A result that came through `:complete`. False when nobody awaits it, or not from that attempt. */
  complete(executionId: string, attemptNumber: number | undefined, result: AttemptResult): boolean {
    const attempt = this.live.get(executionId)?.attempt;
    if (!attempt || (attemptNumber !== undefined && attemptNumber !== attempt.number)) return false;
    this.runner.complete(attempt, result);
    return true;
  }

  /** Cancels an execution. Resolves with its end once that is durable; another end may have been quicker. */
  cancel(execution: LiveExecution): Promise<CallAnswer> {
    return new Promise((resolve) => {
      (execution.waiters ??= []).push({ answer: resolve, cancelTimer: nothing });
      this.runner.end(execution, 'cancelled', cancelledOnRequest, 'cancelled');
    });
  }

  /** Takes up an execution that was accepted before, here or elsewhere. It was admitted then: no bound applies. */
  adopt({ accepted, attempts, failures }: UnfinishedExecution, queue: FunctionQueue): void {
    const { clock } = this.#options;
    if (this.live.get(accepted.executionId)) return;
    const execution = new LiveExecution(accepted, queue, clock.monotonicMs());
    execution.attempts = attempts;
    execution.failures = failures;
    execution.failed = failures.length;
    execution.isStored = true;
    this.live.add(execution);
    if (accepted.idempotencyKey !== undefined)
      this.keys.claim(scopedKey(queue, accepted.idempotencyKey), execution, clock.now());
    this.#begin(execution);
  }

  /** Those that wait first: the slot of one that runs would go to the next of them. */
  dropAll(executions: readonly LiveExecution[]): void {
    const waiting = executions.filter(({ state }) => state === 'queued');
    for (const execution of [...waiting, ...executions]) if (!execution.isDropped) this.drop(execution);
  }

  /** Forgets an execution without an end: whoever is its home goes on with it. */
  drop(execution: LiveExecution): void {
    this.#takeBack(execution, { error: ownerMoving({}), retryAfterSeconds: 1 });
  }

  /** Whether a call would be refused whatever it brings. */
  refusalWithoutBody(queue: FunctionQueue, budgetMs: number): CallRefusal | undefined {
    const refusal = refusalOf(queue, this.live.held, this.#options.limits, { bytes: 0, isScheduled: false, budgetMs });
    if (!refusal) return undefined;
    queue.metrics.rejected += 1;
    this.sync.rejected += 1;
    return refusal;
  }

  #findByKey(queue: FunctionQueue, key: string | undefined): IdempotencyEntry<LiveExecution> | undefined {
    return key === undefined ? undefined : this.keys.find(scopedKey(queue, key), this.#options.clock.now());
  }

  #refusalOf(
    queue: FunctionQueue,
    call: NewCall,
    how: { readonly isScheduled: boolean; readonly budgetMs?: number },
  ): CallRefusal | undefined {
    const { limits, clock } = this.#options;
    const refusal = refusalOf(queue, this.live.held, limits, { bytes: bytesOf(call), ...how });
    if (refusal) queue.metrics.rejected += 1;
    if (refusal || call.idempotencyKey === undefined || this.keys.size < limits.maxKeys) return refusal;
    this.keys.sweep(clock.now());
    if (this.keys.size < limits.maxKeys) return undefined;
    queue.metrics.rejected += 1;
    return { error: tooManyKeys({ limit: limits.maxKeys }), retryAfterSeconds: 1 };
  }

  /** Takes place, bytes and key, in one step. */
  #admit(queue: FunctionQueue, call: NewCall, kind: AcceptedCall['kind']): LiveExecution {
    const { clock } = this.#options;
    const now = clock.now();
    const accepted: AcceptedCall = {
      executionId: this.#ids.next(queue.partition, now),
      tenantId: queue.tenantId,
      functionName: queue.name,
      generation: queue.generation,
      payload: call.payload,
      metadata: call.metadata,
      headers: call.headers,
      kind,
      idempotencyKey: call.idempotencyKey,
      traceId: call.traceId,
      traceparent: call.traceparent,
      tracestate: call.tracestate,
      acceptedAt: now,
      runAt: call.runAt,
      callbackUrl: call.callbackUrl,
      replayOf: call.replayOf,
    };
    const execution = new LiveExecution(accepted, queue, clock.monotonicMs());
    this.live.add(execution);
    if (call.idempotencyKey !== undefined) this.keys.claim(scopedKey(queue, call.idempotencyKey), execution, now);
    queue.metrics.enqueued += 1;
    return execution;
  }

  #stored(executions: readonly LiveExecution[]): void {
    for (const execution of executions) {
      execution.isStored = true;
      execution.pendingWrite = undefined;
      if (execution.outcome || execution.isDropped) continue; // cancelled, or let go, while it was made durable
      if (execution.queue.closed === 'removed') this.#remove(execution);
      else if (execution.queue.closed) this.drop(execution);
      else this.#begin(execution);
    }
  }

  #notStored(executions: readonly LiveExecution[], error: unknown): Error {
    const refusal = { error: isCodedError(error) ? error : notKept({}, error), retryAfterSeconds: 1 };
    for (const execution of executions) this.#takeBack(execution, refusal);
    return refusal.error;
  }

  #begin(execution: LiveExecution): void {
    const { runAt = 0 } = execution.accepted;
    if (!execution.isScheduled) return this.runner.enqueue(execution);
    this.runner.enqueueAfter(execution, runAt - this.#options.clock.now(), () => this.live.unschedule(execution));
  }

  #takeBack(execution: LiveExecution, refusal: CallRefusal): void {
    this.runner.release(execution, 'stopping');
    execution.isDropped = true;
    if (!this.live.remove(execution)) return;
    const { idempotencyKey } = execution.accepted;
    if (idempotencyKey !== undefined) this.keys.release(scopedKey(execution.queue, idempotencyKey));
    execution.tell({ kind: 'refused', refusal });
  }

  #wait(execution: LiveExecution, budgetMs: number, answer: (answer: CallAnswer) => void): () => boolean {
    const waiter: Waiter = { answer, cancelTimer: nothing };
    (execution.waiters ??= []).push(waiter);
    if (!execution.isDurable) execution.waitedForUntilMs = this.#options.clock.monotonicMs() + budgetMs;
    waiter.cancelTimer = this.#options.clock.after(budgetMs, () => {
      const { state } = execution;
      if (!this.#leave(execution, waiter)) return;
      this.sync.timedOut += 1;
      const { executionId } = execution.accepted;
      answer({ kind: 'overdue', executionId, state: state === 'running' ? 'running' : 'queued' });
    });
    return () => this.#leave(execution, waiter);
  }

  /** One wait ends, and nothing else does: unless nobody is left who would hear of an end, and it has not begun. */
  #leave(execution: LiveExecution, waiter: Waiter): boolean {
    const at = execution.waiters?.indexOf(waiter) ?? -1;
    if (at < 0) return false;
    waiter.cancelTimer();
    execution.waiters?.splice(at, 1);
    if (!execution.isWanted && execution.attempt) this.runner.limit(execution.attempt);
    if (!execution.isWanted && execution.state === 'queued') {
      const error = { code: 'QUEUE_TIMEOUT', message: 'nobody waited for it any longer when its turn had not come' };
      this.runner.end(execution, 'timeout', error, 'timeout');
    }
    return true;
  }

  /** What a key stood for that has ended. */
  async #recall(queue: FunctionQueue, executionId: string): Promise<CallAnswer> {
    try {
      const found = await this.#options.store.find(queue.tenantId, executionId);
      // One that the store has forgotten has ended well enough: its key only outlived it by a moment.
      const { status } = found?.outcome ?? { status: 'success' as const };
      return found && !found.evicted ? { kind: 'ended', ...found } : { kind: 'evicted', executionId, status };
    } catch (error) {
      const refusal = { error: isCodedError(error) ? error : notKept({}, error), retryAfterSeconds: 1 };
      return { kind: 'refused', refusal };
    }
  }

  #ended(execution: LiveExecution, outcome: ExecutionOutcome): void {
    const { clock, keyTtlMs, onResult } = this.#options;
    const { accepted, queue } = execution;
    execution.move(outcome.status);
    // The key goes from the live execution to its end before the execution is gone: it is never free in between.
    if (accepted.idempotencyKey !== undefined)
      this.keys.end(scopedKey(queue, accepted.idempotencyKey), accepted.executionId, outcome.finishedAt + keyTtlMs);
    this.live.remove(execution);
    if (!execution.isDurable) this.recent.add(toRecentCall(accepted, outcome), execution.waiters !== undefined);
    queue.metrics.countEnd(outcome.status);
    queue.metrics.endToEnd.observe(clock.monotonicMs() - execution.acceptedMs);
    execution.tell({ kind: 'ended', accepted, outcome });
    if (accepted.callbackUrl !== undefined) onResult(accepted, accepted.callbackUrl, outcome);
  }

  #changed(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    const queue = this.findQueue(tenantId, name);
    if (!queue) return;
    if (now?.generation !== queue.generation) return this.close(queue);
    queue.definition = now;
    this.runner.offer(queue);
  }

  /** The function is gone: nothing new comes in, what waits ends, what runs may finish. */
  close(queue: FunctionQueue): void {
    this.queues.remove(queue, 'removed');
    for (const execution of this.live.all())
      if (execution.queue === queue && execution.state === 'queued' && (execution.isStored || !execution.isDurable))
        this.#remove(execution);
    this.#options.dispatchers[queue.definition.mode].forget?.(queue.definition);
  }

  /** The function's home is another replica now. */
  leave(queue: FunctionQueue): void {
    this.queues.remove(queue, 'moved');
  }

  #remove(execution: LiveExecution): void {
    const error = { code: 'FUNCTION_REMOVED', message: `function ${execution.queue.name} was removed` };
    this.runner.end(execution, 'error', error, 'cancelled');
  }
}

function nothing(): void {}

/** The answer to a call, valid once `fresh` is durable or `stored` resolves. */
interface Taken {
  accepted: EnqueueResult;
  /** The caller must make it durable. */
  readonly fresh?: LiveExecution;
  /** It is already being stored, or read from the store. */
  stored?: Promise<void>;
}
