import { bytesOf, type AcceptedCall, type ExecutionError, type TenantId } from '@drover/contracts';
import type { AttemptResult, FunctionDefinition } from '@drover/dispatchers';
import type { ExecutionOutcome, UnfinishedExecution } from '@drover/execution-store';
import type { Lifecycle } from '@drover/service-kit';
import {
  refusalFor,
  toAccepted,
  toEnqueueResult,
  type CallAnswer,
  type CallRefusal,
  type EnqueueResult,
} from './call-results.js';
import { CallerWaits, refuseUnconfirmed } from './caller-waits.js';
import { DurableWriter, doneInTime } from './durable-writer.js';
import type { EngineOptions, NewCall } from './engine-options.js';
import { notKeptYet, ownerMoving } from './errors.js';
import { cancelledOnRequest, functionGone, withdrawnLate } from './end-reasons.js';
import { ExecutionIds } from './execution-ids.js';
import { ExecutionRunner } from './execution-runner.js';
import { SyncCallMetrics } from './function-metrics.js';
import { FunctionQueues, type FunctionQueue } from './function-queue.js';
import { KeyedCalls } from './keyed-calls.js';
import { isAhead, LiveExecution } from './live-execution.js';
import { LiveExecutions } from './live-executions.js';
import { RecentCalls, toRecentCall } from './recent-calls.js';
import { Sweeper } from './sweeper.js';

const recentLimits = { answered: 1_000, others: 10_000, ttlMs: 30_000 };

/**
 * Accepts calls of the functions that this replica owns, runs them and reports their ends. Every decision is synchronous: between the
 * check of a limit and the place taken under it, no other call is handled.
 */
export class InvocationEngine implements Lifecycle {
  readonly name = 'invocation engine';
  readonly sync = new SyncCallMetrics();
  readonly sweeper: Sweeper;
  readonly runner: ExecutionRunner;
  readonly live: LiveExecutions;
  readonly recent = new RecentCalls(recentLimits);
  readonly keyed: KeyedCalls;
  readonly queues = new FunctionQueues();
  readonly #options: EngineOptions;
  readonly #ids: ExecutionIds;
  readonly #durableWriter: DurableWriter;
  readonly #waits: CallerWaits;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#ids = new ExecutionIds(options.randomness);
    this.live = new LiveExecutions(options.limits, options.clock);
    this.keyed = new KeyedCalls({ ...options, maxKeys: options.limits.maxKeys });
    this.runner = new ExecutionRunner({
      ...options,
      maxInFlight: options.limits.maxInFlight,
      live: this.live,
      sync: this.sync,
      onEnded: (execution, outcome) => this.#ended(execution, outcome),
      onMoved: (execution) => this.#leaveQueue(execution),
      onLost: (execution, error) => {
        options.observe({ kind: 'invocation.end-not-stored', executionId: execution.accepted.executionId, error });
        this.drop(execution);
      },
    });
    this.#durableWriter = new DurableWriter({
      store: options.store,
      clock: options.clock,
      onStored: (executions) => this.#stored(executions),
      onFailed: (executions, error) => this.#notStored(executions, error),
    });
    this.#waits = new CallerWaits({ runner: this.runner, sync: this.sync, clock: options.clock });
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

  /** Returns the queue of a function that was called before. */
  findQueue(tenantId: TenantId, name: string): FunctionQueue | undefined {
    return this.queues.get(tenantId, name);
  }

  /** Opens the queue of a function; undefined when there is no such function. */
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
    if (known) this.#replace(known, definition);
    const queue = this.queues.open(definition);
    // Before the first call that comes after them: an idempotency key may stand for one of them.
    for (const orphan of this.#options.orphans.takeOf(definition)) this.adopt(orphan, queue);
    return queue;
  }

  /** Calls a function and answers once, within `budgetMs`. The caller must call the returned function when it stops waiting. */
  invoke(queue: FunctionQueue, call: NewCall, budgetMs: number, answer: (answer: CallAnswer) => void): () => void {
    const known = this.keyed.find(queue, call);
    if (known?.kind === 'live') return this.#waits.begin(known.live, budgetMs, answer);
    if (known?.kind === 'ended') {
      void this.keyed.recall(queue, call, known.executionId).then(answer);
      return nothing;
    }
    const refusal = known?.refusal ?? this.#refusalOf(queue, call, { isDelayed: false, budgetMs });
    if (refusal) {
      this.sync.rejected += 1;
      answer({ kind: 'refused', refusal });
      return nothing;
    }
    const execution = this.#admit(queue, call, 'sync');
    this.sync.admitted += 1;
    const leave = this.#waits.begin(execution, budgetMs, answer);
    if (!execution.isDurable) this.runner.enqueue(execution);
    else
      this.#durableWriter.write(queue.partition, [execution]).then(
        (isStored) => {
          if (!isStored && leave()) answer({ kind: 'refused', refusal: refuseUnconfirmed(execution) });
        },
        () => undefined, // the drop has answered the caller
      );
    return leave;
  }

  /**
   * Accepts a call whose caller does not wait for the result. Resolves with its id once it is durable, and with a refusal when the store
   * does not confirm that in time; rejects when it cannot be stored.
   */
  enqueue(queue: FunctionQueue, call: NewCall): Promise<EnqueueResult> {
    const admission = this.#admitOnce(queue, call);
    if (admission.kind !== 'new') return this.#answerOf(admission);
    const { live } = admission;
    return this.#durableWriter
      .write(queue.partition, [live])
      .then((isStored) => (isStored ? toAccepted(live) : { refusal: refuseUnconfirmed(live) }));
  }

  /** The same for many calls. Resolves in their order; rejects, and accepts no new one, when they cannot be stored. */
  async enqueueAll(queue: FunctionQueue, calls: readonly NewCall[]): Promise<readonly EnqueueResult[]> {
    const admissions = calls.map((call) => this.#admitOnce(queue, call));
    const fresh = admissions.flatMap((admission) => (admission.kind === 'new' ? admission.live : []));
    const written = fresh.length > 0 ? this.#durableWriter.write(queue.partition, fresh) : Promise.resolve(true);
    // A call whose key stands for an execution of another request does not fail the batch when that one cannot be stored.
    const answers = admissions.map((admission) =>
      admission.kind === 'new'
        ? Promise.resolve(toAccepted(admission.live))
        : this.#answerOf(admission).catch(refusalFor),
    );
    if (!(await written)) {
      for (const live of fresh) live.unrefusedCallers -= 1;
      throw notKeptYet({});
    }
    return Promise.all(answers);
  }

  /** Admits a call unless its idempotency key stands for an execution. */
  #admitOnce(queue: FunctionQueue, call: NewCall): Admission {
    const known = this.keyed.find(queue, call);
    if (known?.kind === 'live') return known;
    if (known?.kind === 'ended')
      return { kind: 'answered', result: this.#recallInTime(queue, call, known.executionId) };
    const isDelayed = isAhead(call.runAt, this.#options.clock.now());
    const refusal = known?.refusal ?? this.#refusalOf(queue, call, { isDelayed });
    if (refusal) return { kind: 'answered', result: Promise.resolve({ refusal }) };
    return { kind: 'new', live: this.#admit(queue, call, 'async') };
  }

  /** While another request, or another call of the same batch, makes the execution durable, this one waits for that, too. */
  async #answerOf(admission: Exclude<Admission, { readonly kind: 'new' }>): Promise<EnqueueResult> {
    if (admission.kind === 'answered') return admission.result;
    const { live } = admission;
    if (!live.pendingWrite) return { executionId: live.accepted.executionId, status: live.status };
    live.unrefusedCallers += 1;
    if (await doneInTime(this.#options.clock, live.pendingWrite)) return toAccepted(live);
    return { refusal: refuseUnconfirmed(live) };
  }

  async #recallInTime(queue: FunctionQueue, call: NewCall, executionId: string): Promise<EnqueueResult> {
    const recall = this.keyed.recall(queue, call, executionId);
    const isAnswered = await doneInTime(this.#options.clock, recall);
    if (isAnswered) return toEnqueueResult(await recall);
    return { refusal: { error: notKeptYet({}), retryAfterSeconds: 1 } };
  }

  /** Completes an attempt from outside. Returns false when no attempt of the execution runs, or another one. */
  complete(executionId: string, attemptNumber: number, result: AttemptResult): boolean {
    const attempt = this.live.get(executionId)?.attempt;
    if (attempt?.number !== attemptNumber) return false;
    this.runner.complete(attempt, result);
    return true;
  }

  /** Cancels an execution. Resolves with its end once that is durable; another end may have been quicker. */
  cancel(execution: LiveExecution, reason: ExecutionError = cancelledOnRequest): Promise<CallAnswer> {
    return new Promise((resolve) => {
      (execution.waiters ??= []).push({ answer: resolve, cancelTimer: nothing });
      this.runner.end(execution, 'cancelled', reason, 'cancelled');
    });
  }

  /** Recovers an execution that was accepted before, here or on another replica. It was admitted then, so no limit applies. */
  adopt({ accepted, attempts, failures }: UnfinishedExecution, queue: FunctionQueue): void {
    const { clock } = this.#options;
    if (this.live.get(accepted.executionId)) return;
    const now = clock.now();
    const execution = new LiveExecution(accepted, queue, now, clock.monotonicMs());
    execution.attempts = attempts;
    execution.failures = failures;
    execution.failed = failures.reduce((counted, { isUncounted }) => counted + (isUncounted ? 0 : 1), 0);
    this.live.add(execution);
    this.keyed.claim(execution);
    this.#begin(execution);
  }

  /** Drops waiting executions first: they would get the slots of the running ones. */
  dropAll(executions: readonly LiveExecution[]): void {
    for (const execution of executions) if (execution.state !== 'running') this.drop(execution);
    for (const execution of executions) this.drop(execution);
  }

  /** Drops an execution without an end. Its callers get a retryable error; the owner of its partition runs it. */
  drop(execution: LiveExecution): void {
    this.#drop(execution, { error: ownerMoving({}), retryAfterSeconds: 1 });
  }

  /** Returns the refusal of a call before its body is read, if any body would be refused. */
  refusalWithoutBody(queue: FunctionQueue, budgetMs: number): CallRefusal | undefined {
    const refusal = this.live.refusalOf(queue, { bytes: 0, isDelayed: false, budgetMs });
    if (!refusal) return undefined;
    queue.metrics.rejected += 1;
    this.sync.rejected += 1;
    return refusal;
  }

  #refusalOf(
    queue: FunctionQueue,
    call: NewCall,
    how: { readonly isDelayed: boolean; readonly budgetMs?: number },
  ): CallRefusal | undefined {
    const refusal =
      this.live.refusalOf(queue, { bytes: bytesOf(call), ...how }) ??
      // A replay takes over a key that exists, as a rule.
      (call.idempotencyKey === undefined || call.replayOf !== undefined ? undefined : this.keyed.refusalOf(queue));
    if (refusal) queue.metrics.rejected += 1;
    return refusal;
  }

  /** Takes place, bytes and idempotency key in one step. */
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
      concurrencyKey: call.concurrencyKey,
      traceId: call.traceId,
      traceparent: call.traceparent,
      tracestate: call.tracestate,
      acceptedAt: now,
      runAt: call.runAt,
      callbackUrl: call.callbackUrl,
      replayOf: call.replayOf,
    };
    const execution = new LiveExecution(accepted, queue, now, clock.monotonicMs());
    this.live.add(execution);
    this.keyed.claim(execution);
    queue.metrics.enqueued += 1;
    return execution;
  }

  #stored(executions: readonly LiveExecution[]): void {
    for (const execution of executions) {
      execution.pendingWrite = undefined;
      if (execution.state !== 'accepting') continue; // withdrawn or dropped while it was made durable
      if (execution.unrefusedCallers === 0) this.#withdraw(execution);
      else if (execution.queue.isRemovedFor(execution.accepted)) this.#endRemoved(execution);
      else if (execution.queue.closed) this.#leaveQueue(execution);
      else this.#begin(execution);
    }
  }

  /**
   * Ends an execution that was stored after every caller had been told that it is not accepted. They send the call again, so it must
   * not run. Its key is free at once: the repeated call may be here before the end is durable.
   */
  #withdraw(execution: LiveExecution): void {
    this.keyed.release(execution);
    this.runner.end(execution, 'cancelled', withdrawnLate, 'cancelled');
  }

  #notStored(executions: readonly LiveExecution[], error: unknown): Error {
    const { refusal } = refusalFor(error);
    for (const execution of executions) this.#drop(execution, refusal);
    return refusal.error;
  }

  #begin(execution: LiveExecution): void {
    if (execution.isDelayed) this.runner.schedule(execution);
    else this.runner.enqueue(execution);
  }

  #drop(execution: LiveExecution, refusal: CallRefusal): void {
    const { state } = execution;
    if (state === 'dropped' || state === 'ended') return;
    this.runner.drop(execution);
    if (!this.live.remove(execution)) return;
    this.keyed.release(execution);
    execution.answer({ kind: 'refused', refusal });
  }

  #ended(execution: LiveExecution, outcome: ExecutionOutcome): void {
    const { clock, onResult } = this.#options;
    const { accepted, queue } = execution;
    execution.move('ended');
    this.keyed.ended(execution, outcome);
    this.live.remove(execution);
    if (!execution.isDurable) this.recent.add(toRecentCall(accepted, outcome), execution.waiters !== undefined);
    queue.metrics.countEnd(outcome.status);
    queue.metrics.endToEnd.record(clock.monotonicMs() - execution.acceptedMs);
    execution.answer({ kind: 'ended', accepted, outcome });
    if (accepted.callbackUrl !== undefined) onResult(accepted, accepted.callbackUrl, outcome);
  }

  #changed(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    const queue = this.findQueue(tenantId, name);
    if (!queue) return now ? undefined : this.queues.measured.remove(tenantId, name);
    if (now?.generation !== queue.generation) return this.#replace(queue, now);
    const former = queue.definition;
    queue.definition = now;
    if (former.mode !== now.mode) this.#options.dispatchers[former.mode].forget?.(former);
    this.runner.offer(queue);
  }

  /**
   * Closes the queue of a function that another one replaces, or none. Running executions may finish. Those that wait end when a caller has
   * removed the function; its application may bring it back with another version, and until then asynchronous ones wait as orphans.
   */
  #replace(queue: FunctionQueue, now: FunctionDefinition | undefined): void {
    const mayReturn = queue.definition.discovered !== undefined && (now === undefined || now.discovered !== undefined);
    this.queues.close(queue, mayReturn ? 'absent' : 'removed');
    for (const execution of this.live.all()) {
      if (execution.queue !== queue || !execution.isWaiting) continue;
      if (queue.isRemovedFor(execution.accepted)) this.#endRemoved(execution);
      else this.#leaveQueue(execution);
    }
    this.#options.dispatchers[queue.definition.mode].forget?.(queue.definition);
  }

  /** Gives up an execution whose queue is closed: to the next owner of its partition, or to the time when its function returns. */
  #leaveQueue(execution: LiveExecution): void {
    const { accepted, attempts, failures, queue } = execution;
    this.drop(execution);
    if (queue.closed === 'absent') this.#options.orphans.add([{ accepted, attempts, failures }]);
  }

  #endRemoved(execution: LiveExecution): void {
    this.runner.end(execution, 'error', functionGone(execution.queue.name), 'cancelled');
  }
}

function nothing(): void {}

/** What became of a call: a new execution that is to be stored, the one that its key stands for, or an answer. */
type Admission =
  | { readonly kind: 'new' | 'live'; readonly live: LiveExecution }
  | { readonly kind: 'answered'; readonly result: Promise<EnqueueResult> };
