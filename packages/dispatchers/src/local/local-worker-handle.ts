import type { Clock } from '@drover/service-kit';
import type { WorkerClient } from 'isolated-workers';
import type { Attempt, AttemptResult } from '../dispatcher.js';
import type { LocalMessages, RunPayload, RunReply } from './local-messages.js';
import { fromReply, fromWorkerError, localAbandoned } from './to-attempt-result.js';

export interface LocalWorkerEvents {
  /** It cannot be started, or its module cannot be loaded: it is of no use to anybody. */
  readonly onUseless: (worker: LocalWorkerHandle, result: AttemptResult) => void;
  /** It has had its time and its last call is over. */
  readonly onSpent: (worker: LocalWorkerHandle) => void;
  /** Its loop stood still, and it was ended. */
  readonly onStuck: () => void;
  readonly onCrash: (message: string) => void;
}

export interface LocalWorkerLimits {
  /** How long after a call was abandoned the loop must have turned. */
  readonly stuckMs: number;
  /** How long after that its handler may go on. */
  readonly lingerMs: number;
}

interface Call {
  readonly number: number;
  readonly attempt: Attempt;
  /** Undefined once somebody was told, or nobody wants to know. */
  settle: ((result: AttemptResult) => void) | undefined;
}

/** The caller sees to time limits. */
const noLimit = { timeout: 0 } as const;

/**
 * One worker of a function and the calls it has in hand.
 *
 * A call that was abandoned stays in hand until its handler has ended: its signal aborts, and from there on
 * - a handler that heeds its signal ends, and all is well;
 * - one that goes on, but lets the loop turn, does no harm to its neighbours. After `lingerMs` the worker takes no more calls and
 *   is closed when those that are wanted are over, and the handler with it;
 * - one that computes without end stops the loop, and its neighbours with it: whether the worker answers our cancel tells.
 *   After `stuckMs` the worker is killed and started again. Neighbours that had not begun run again as if nothing had been; those
 *   that had fail as after a crash, which is transient: the engine tries them again.
 */
export class LocalWorkerHandle {
  load = 0;
  /** When it last answered something, or began to have something to answer. */
  heardMs: number;
  /** It takes no more calls. */
  isRetired = false;
  /** It has not answered a cancel yet that is older than `stuckMs`. */
  isSuspect = false;
  readonly #clock: Clock;
  readonly #events: LocalWorkerEvents;
  readonly #limits: LocalWorkerLimits;
  readonly #calls = new Map<number, Call>();
  /** Those that go out at the end of this turn, or when there is a worker. */
  #unsent: Call[] = [];
  /** Timers of handlers that go on though nobody wants their result. */
  readonly #lingering = new Map<number, () => void>();
  #client: WorkerClient<LocalMessages> | undefined;
  #opened: Promise<WorkerClient<LocalMessages> | undefined>;
  #next = 1;
  #endedByUs = false;
  #closed: Promise<void> | undefined;

  constructor(
    open: () => Promise<WorkerClient<LocalMessages>>,
    {
      clock,
      events,
      limits,
    }: { readonly clock: Clock; readonly events: LocalWorkerEvents; readonly limits: LocalWorkerLimits },
  ) {
    this.#clock = clock;
    this.#events = events;
    this.#limits = limits;
    this.heardMs = clock.monotonicMs();
    this.#opened = open().then(
      (client) => {
        this.#client = client;
        this.#sendAll();
        return client;
      },
      (error: unknown) => {
        this.#failToOpen(error);
        return undefined;
      },
    );
  }

  get isReady(): boolean {
    return this.#client !== undefined;
  }

  get pid(): number | undefined {
    return this.#client?.pid;
  }

  /** Calls that somebody still waits for. */
  get wanted(): number {
    return this.load - this.#lingering.size;
  }

  run(attempt: Attempt, nowMs: number): Promise<AttemptResult> {
    const call: Call = { number: this.#next++, attempt, settle: undefined };
    if (this.load === 0) this.heardMs = nowMs; // it had nothing to answer, and was not silent
    this.load += 1;
    this.#calls.set(call.number, call);
    this.#unsent.push(call);
    // Calls of many connections come in one turn of the loop, each in a callback of its own. To wake the worker for each of
    // them would cost more than all the rest; at the end of the turn they go in one write.
    if (this.#unsent.length === 1 && this.#client) setImmediate(this.#sendAll);
    return new Promise((resolve) => {
      call.settle = resolve;
      attempt.onAbandoned(() => this.#abandon(call));
    });
  }

  /** No more calls; closed after the last that is wanted. */
  retire(): void {
    this.isRetired = true;
    this.#closeIfSpent();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.isRetired = true;
    for (const cancel of this.#lingering.values()) cancel();
    this.#lingering.clear();
    const client = await this.#opened;
    await client?.close();
  }

  readonly #sendAll = (): void => {
    const client = this.#client;
    const calls = this.#unsent;
    this.#unsent = [];
    const nowMs = this.#clock.now();
    for (const call of calls) {
      if (!client || !call.settle) {
        this.#over(call); // nobody waits for it any more
        continue;
      }
      client.send('run', payloadOf(call, nowMs), noLimit).then(
        (reply) => this.#answered(call, reply),
        (error: unknown) => this.#lost(call, error),
      );
    }
  };

  #answered(call: Call, reply: RunReply): void {
    this.heardMs = this.#clock.monotonicMs();
    this.isSuspect = false;
    this.#over(call);
    const result = fromReply(reply);
    this.#tell(call, result);
    if (typeof reply !== 'string' && reply[0] === 'broken') this.#events.onUseless(this, result);
  }

  #lost(call: Call, error: unknown): void {
    this.#over(call);
    const result = fromWorkerError(error, this.#endedByUs);
    if (result.code === 'LOCAL_WORKER_CRASHED' && !this.#endedByUs) this.#events.onCrash(result.message);
    this.#tell(call, result);
  }

  #failToOpen(error: unknown): void {
    const result = fromWorkerError(error, false);
    for (const call of this.#unsent) this.#tell(call, result);
    this.#sendAll();
    this.#events.onUseless(this, result);
  }

  #tell(call: Call, result: AttemptResult): void {
    const { settle } = call;
    call.settle = undefined;
    settle?.(result);
  }

  /** Its handler has ended, or will never begin. */
  #over(call: Call): void {
    this.load -= 1;
    this.#calls.delete(call.number);
    if (this.#lingering.size > 0) {
      this.#lingering.get(call.number)?.();
      this.#lingering.delete(call.number);
    }
    if (this.isRetired) this.#closeIfSpent();
  }

  #closeIfSpent(): void {
    if (this.#closed || this.wanted > 0) return;
    this.#events.onSpent(this);
    void this.close();
  }

  #abandon(call: Call): void {
    if (!call.settle || this.#closed) return;
    this.#tell(call, localAbandoned);
    const client = this.#client;
    if (!client || this.#unsent.includes(call)) return; // it is never sent
    this.#lingering.set(
      call.number,
      this.#clock.after(this.#limits.lingerMs, () => this.retire()),
    );
    client.send('cancel', call.number, { timeout: this.#limits.stuckMs }).then(
      () => {
        this.heardMs = this.#clock.monotonicMs();
        this.isSuspect = false;
      },
      (error: unknown) => {
        if (isTimeout(error)) this.#noAnswer(client, call);
      },
    );
    if (this.isRetired) this.#closeIfSpent();
  }

  /**
   * The loop has stood still since the call was abandoned. Whoever was sent before it and is still wanted may compute in good
   * faith: it has time until its own limit, when this question comes up again.
   */
  #noAnswer(client: WorkerClient<LocalMessages>, call: Call): void {
    if (!this.#calls.has(call.number)) return;
    this.isSuspect = true;
    for (const { number, settle } of this.#calls.values()) if (number < call.number && settle) return;
    this.#endedByUs = true;
    this.#events.onStuck();
    // Whoever fails because of it has been told by the time it is gone.
    void client.recycle().then(() => {
      this.#endedByUs = false;
      this.isSuspect = false;
      // Those that had not begun are run by the next one, and it has not heard which of them nobody wants.
      for (const number of this.#lingering.keys()) client.send('cancel', number).catch(() => undefined);
    });
  }
}

function payloadOf({ number, attempt }: Call, nowMs: number): RunPayload {
  const {
    payload,
    executionId,
    traceId = null,
    traceparent = null,
    metadata = null,
    headers = null,
  } = attempt.accepted;
  const isBinary = payload.encoding === 'base64';
  const expiresAt = nowMs + attempt.timeoutMs;
  return [
    number,
    payload.json,
    isBinary,
    executionId,
    attempt.number,
    expiresAt,
    traceId,
    traceparent,
    metadata,
    headers,
  ];
}

function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_REQUEST_TIMEOUT';
}
