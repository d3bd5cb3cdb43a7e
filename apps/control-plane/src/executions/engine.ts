import { bytesOf, type AcceptedCall, isCodedError, type TenantId } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';
import type { ExecutionOutcome, UnfinishedExecution } from '@drover/execution-store';
import { ownerMoving, notKept, tooManyKeys } from './errors.js';
import { ExecutionIds } from './execution-ids.js';
import { SyncFigures } from './function-figures.js';
import { KeyLedger, scopedKey, type KeyEntry } from './key-ledger.js';
import { acceptedAgain, acceptedAs, type Accepted } from './accepted.js';
import { refusalOf } from './admission.js';
import type { EngineOptions, NewCall } from './engine-options.js';
import { DurableWriter, answeredInTime } from './durable-writer.js';
import { ExecutionRunner } from './execution-runner.js';
import type { FunctionLane } from './function-lane.js';
import { LaneBook } from './lane-book.js';
import { LiveRegister } from './live-register.js';
import { LiveExecution, type Answer, type Refusal, type Waiter } from './live-execution.js';
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
  readonly sync = new SyncFigures();
  readonly sweeper: Sweeper;
  readonly runner: ExecutionRunner;
  readonly live: LiveRegister;
  readonly recent = new RecentCalls(recentLimits);
  readonly keys: KeyLedger<LiveExecution>;
  readonly lanes = new LaneBook();
  readonly #options: EngineOptions;
  readonly #ids: ExecutionIds;
  readonly #durableWriter: DurableWriter;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#ids = new ExecutionIds(options.randomness);
    this.live = new LiveRegister(options.clock);
    this.keys = new KeyLedger(options.limits.maxKeys);
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

  /** The lane of a function that has been called before. */
  peekLane(tenantId: TenantId, name: string): FunctionLane | undefined {
    return this.lanes.get(tenantId, name);
  }

  /** The lane of a function, opened if there is such a function. */
  async openLane(tenantId: TenantId, name: string): Promise<FunctionLane | undefined> {
    const known = this.peekLane(tenantId, name);
    if (known) return known;
    const { catalog, beforeUnknown } = this.#options;
    const definition =
      (await catalog.find(tenantId, name)) ??
      ((await beforeUnknown?.()) ? await catalog.find(tenantId, name) : undefined);
    return definition && this.laneOf(definition);
  }

  laneOf(definition: FunctionDefinition): FunctionLane {
    const known = this.peekLane(definition.tenantId, definition.name);
    if (known?.generation === definition.generation) return known;
    if (known) this.close(known);
    return this.lanes.add(definition);
  }

  /**
   * Calls a function for somebody who waits `budgetMs` for the answer. The returned function says that nobody waits any more.
   */
  invoke(lane: FunctionLane, call: NewCall, budgetMs: number, answer: (answer: Answer) => void): () => void {
    const known = this.#findByKey(lane, call.idempotencyKey);
    if (known?.kind === 'live') return this.#wait(known.live, budgetMs, answer);
    if (known) {
      void this.#recall(lane, known.executionId).then(answer);
      return nothing;
    }
    const refusal = this.#refusalOf(lane, call, { isScheduled: false, budgetMs });
    if (refusal) {
      this.sync.rejected += 1;
      answer({ kind: 'refused', refusal });
      return nothing;
    }
    const execution = this.#admit(lane, call, 'sync');
    this.sync.admitted += 1;
    const leave = this.#wait(execution, budgetMs, answer);
    if (!execution.isDurable) this.runner.queue(execution);
    else
      this.#durableWriter.write(lane.partition, [execution]).catch((error: unknown) => {
        // When it was refused, whoever waits has heard of it.
        if (leave() && isCodedError(error)) answer({ kind: 'refused', refusal: { error, retryAfterSeconds: 1 } });
      });
    return leave;
  }

  /** Accepts a call whose caller does not wait for the result. Resolves once it is durable; rejects when it cannot be stored. */
  enqueue(lane: FunctionLane, call: NewCall): Promise<Accepted> {
    const taken = this.#take(lane, call);
    const stored = taken.fresh ? this.#durableWriter.write(lane.partition, [taken.fresh]) : taken.stored;
    return stored ? stored.then(() => taken.accepted) : Promise.resolve(taken.accepted);
  }

  /** The same for many calls. Resolves in their order once all accepted ones are durable; rejects, and stores none, when that fails. */
  async enqueueAll(lane: FunctionLane, calls: readonly NewCall[]): Promise<readonly Accepted[]> {
    const all = calls.map((call) => this.#take(lane, call));
    const fresh = all.flatMap((taken) => taken.fresh ?? []);
    const awaited = all.flatMap(({ stored }) => stored ?? []);
    if (fresh.length > 0) awaited.push(this.#durableWriter.write(lane.partition, fresh));
    await Promise.all(awaited);
    return all.map(({ accepted }) => accepted);
  }

  #take(lane: FunctionLane, call: NewCall): Taken {
    const { clock } = this.#options;
    const known = this.#findByKey(lane, call.idempotencyKey);
    if (known?.kind === 'ended') {
      const { executionId } = known;
      const taken: Taken = { accepted: { executionId, status: 'success' } };
      const recall = this.#recall(lane, executionId).then((answer) => (taken.accepted = acceptedAgain(answer)));
      taken.stored = answeredInTime(clock, recall);
      return taken;
    }
    if (known) {
      // What another request is just making durable is not accepted before it is.
      const { pendingWrite } = known.live;
      return { accepted: acceptedAs(known.live), ...(pendingWrite && { stored: answeredInTime(clock, pendingWrite) }) };
    }
    const refusal = this.#refusalOf(lane, call, { isScheduled: this.live.isAhead(call.runAt) });
    if (refusal) return { accepted: { refusal } };
    const fresh = this.#admit(lane, call, 'async');
    return { accepted: acceptedAs(fresh), fresh };
  }

  /** A result that came through `:complete`. False when nobody awaits it, or not from that attempt. */
  complete(executionId: string, attemptNumber: number | undefined, result: AttemptResult): boolean {
    const attempt = this.live.get(executionId)?.attempt;
    if (!attempt || (attemptNumber !== undefined && attemptNumber !== attempt.number)) return false;
    this.runner.complete(attempt, result);
    return true;
  }

  /** Cancels an execution. Resolves with its end once that is durable; another end may have been quicker. */
  cancel(execution: LiveExecution): Promise<Answer> {
    return new Promise((resolve) => {
      (execution.waiters ??= []).push({ answer: resolve, cancelTimer: nothing });
      this.runner.end(execution, 'cancelled', cancelledOnRequest, 'cancelled');
    });
  }

  /** Takes up an execution that was accepted before, here or elsewhere. It was admitted then: no bound applies. */
  adopt({ accepted, attempts, failures }: UnfinishedExecution, lane: FunctionLane): void {
    const { clock } = this.#options;
    if (this.live.get(accepted.executionId)) return;
    const execution = new LiveExecution(accepted, lane, clock.monotonicMs());
    execution.attempts = attempts;
    execution.failures = failures;
    execution.failed = failures.length;
    execution.isStored = true;
    this.live.add(execution);
    if (accepted.idempotencyKey !== undefined)
      this.keys.claim(scopedKey(lane, accepted.idempotencyKey), execution, clock.now());
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
  refusalWithoutBody(lane: FunctionLane, budgetMs: number): Refusal | undefined {
    const refusal = refusalOf(lane, this.live.held, this.#options.limits, { bytes: 0, isScheduled: false, budgetMs });
    if (!refusal) return undefined;
    lane.figures.rejected += 1;
    this.sync.rejected += 1;
    return refusal;
  }

  #findByKey(lane: FunctionLane, key: string | undefined): KeyEntry<LiveExecution> | undefined {
    return key === undefined ? undefined : this.keys.find(scopedKey(lane, key), this.#options.clock.now());
  }

  #refusalOf(
    lane: FunctionLane,
    call: NewCall,
    how: { readonly isScheduled: boolean; readonly budgetMs?: number },
  ): Refusal | undefined {
    const { limits, clock } = this.#options;
    const refusal = refusalOf(lane, this.live.held, limits, { bytes: bytesOf(call), ...how });
    if (refusal) lane.figures.rejected += 1;
    if (refusal || call.idempotencyKey === undefined || this.keys.size < limits.maxKeys) return refusal;
    this.keys.sweep(clock.now());
    if (this.keys.size < limits.maxKeys) return undefined;
    lane.figures.rejected += 1;
    return { error: tooManyKeys({ limit: limits.maxKeys }), retryAfterSeconds: 1 };
  }

  /** Takes place, bytes and key, in one step. */
  #admit(lane: FunctionLane, call: NewCall, kind: AcceptedCall['kind']): LiveExecution {
    const { clock } = this.#options;
    const now = clock.now();
    const accepted: AcceptedCall = {
      executionId: this.#ids.next(lane.partition, now),
      tenantId: lane.tenantId,
      functionName: lane.name,
      generation: lane.generation,
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
    const execution = new LiveExecution(accepted, lane, clock.monotonicMs());
    this.live.add(execution);
    if (call.idempotencyKey !== undefined) this.keys.claim(scopedKey(lane, call.idempotencyKey), execution, now);
    lane.figures.enqueued += 1;
    return execution;
  }

  #stored(executions: readonly LiveExecution[]): void {
    for (const execution of executions) {
      execution.isStored = true;
      execution.pendingWrite = undefined;
      if (execution.outcome || execution.isDropped) continue; // cancelled, or let go, while it was made durable
      if (execution.lane.closed === 'removed') this.#remove(execution);
      else if (execution.lane.closed) this.drop(execution);
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
    if (!execution.isScheduled) return this.runner.queue(execution);
    this.runner.queueLater(execution, runAt - this.#options.clock.now(), () => this.live.unschedule(execution));
  }

  #takeBack(execution: LiveExecution, refusal: Refusal): void {
    this.runner.letGo(execution, 'stopping');
    execution.isDropped = true;
    if (!this.live.remove(execution)) return;
    const { idempotencyKey } = execution.accepted;
    if (idempotencyKey !== undefined) this.keys.release(scopedKey(execution.lane, idempotencyKey));
    execution.tell({ kind: 'refused', refusal });
  }

  #wait(execution: LiveExecution, budgetMs: number, answer: (answer: Answer) => void): () => boolean {
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
  async #recall(lane: FunctionLane, executionId: string): Promise<Answer> {
    try {
      const found = await this.#options.store.find(lane.tenantId, executionId);
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
    const { accepted, lane } = execution;
    execution.move(outcome.status);
    // The key goes from the live execution to its end before the execution is gone: it is never free in between.
    if (accepted.idempotencyKey !== undefined)
      this.keys.end(scopedKey(lane, accepted.idempotencyKey), accepted.executionId, outcome.finishedAt + keyTtlMs);
    this.live.remove(execution);
    if (!execution.isDurable) this.recent.add(toRecentCall(accepted, outcome), execution.waiters !== undefined);
    lane.figures.countEnd(outcome.status);
    lane.figures.endToEnd.observe(clock.monotonicMs() - execution.acceptedMs);
    execution.tell({ kind: 'ended', accepted, outcome });
    if (accepted.callbackUrl !== undefined) onResult(accepted, accepted.callbackUrl, outcome);
  }

  #changed(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    const lane = this.peekLane(tenantId, name);
    if (!lane) return;
    if (now?.generation !== lane.generation) return this.close(lane);
    lane.definition = now;
    this.runner.offer(lane);
  }

  /** The function is gone: nothing new comes in, what waits ends, what runs may finish. */
  close(lane: FunctionLane): void {
    this.lanes.takeOut(lane, 'removed');
    for (const execution of this.live.all())
      if (execution.lane === lane && execution.state === 'queued' && (execution.isStored || !execution.isDurable))
        this.#remove(execution);
    this.#options.dispatchers[lane.definition.mode].forget?.(lane.definition);
  }

  /** The function's home is another replica now. */
  leave(lane: FunctionLane): void {
    this.lanes.takeOut(lane, 'moved');
  }

  #remove(execution: LiveExecution): void {
    const error = { code: 'FUNCTION_REMOVED', message: `function ${execution.lane.name} was removed` };
    this.runner.end(execution, 'error', error, 'cancelled');
  }
}

function nothing(): void {}

/** The answer to a call, valid once `fresh` is durable or `stored` resolves. */
interface Taken {
  accepted: Accepted;
  /** The caller must make it durable. */
  readonly fresh?: LiveExecution;
  /** It is already being stored, or read from the store. */
  stored?: Promise<void>;
}
