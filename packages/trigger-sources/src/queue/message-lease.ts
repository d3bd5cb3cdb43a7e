import { BackOff, WakeUp, type BackOffPolicy, type Clock, type Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import type { QueueOptions } from './queue-options.js';
import { failureOf, type MessageHandle, type QueueMessage, type StorageQueue } from './storage-queue.js';

/** Shared by all leases of a listener. */
interface MessageLeaseIo {
  readonly queue: StorageQueue;
  readonly options: Pick<QueueOptions, 'leaseMs'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Aborts requests in flight. */
  readonly cut: AbortSignal;
}

/** Delays of at most a twentieth of the lease, so that a service that recovers late still gets a renewal in time. */
const retries = (leaseMs: number): BackOffPolicy => ({
  firstMs: 250,
  maxMs: Math.min(15_000, leaseMs / 20),
  factor: 2,
});
/** Time limit of a renewal after the lease has expired. */
const lateMs = 1_000;

/**
 * The lease of one message, renewed at half of its duration. Rules:
 * - Each renewal changes the pop receipt, so the handle must not be used before `end` has returned the latest one.
 * - A failed renewal is retried while the lease lasts. The lease is lost when the service reports that another consumer has the
 *   message, or when it expires without a successful renewal; `onLost` is called in both cases.
 */
export class MessageLease {
  readonly #io: MessageLeaseIo;
  readonly #message: QueueMessage;
  readonly #onLost: (error: unknown) => void;
  readonly #lost = new AbortController();
  readonly #ending = new WakeUp();
  readonly #renewing: Promise<void>;
  #isEnding = false;
  /** Undefined once the lease is lost. */
  #handle: MessageHandle | undefined;
  #endsAtMs: number;

  /** `askedAtMs`: monotonic time before the receive request; the lease cannot have started earlier. */
  constructor(io: MessageLeaseIo, message: QueueMessage, askedAtMs: number, onLost: (error: unknown) => void) {
    this.#io = io;
    this.#message = message;
    this.#onLost = onLost;
    this.#handle = message;
    this.#endsAtMs = askedAtMs + io.options.leaseMs;
    this.#renewing = this.#keepRenewed();
  }

  /** Aborts when the lease is lost or cancelled. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Expiry on the monotonic clock. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  /** Aborts `lost`: the settlement of the message has no effect any more. */
  cancel(reason: Error): void {
    this.#lost.abort(reason);
  }

  /** Stops the renewal. Resolves with the handle for the settlement, or undefined if the lease is lost. */
  async end(): Promise<MessageHandle | undefined> {
    this.#isEnding = true;
    this.#ending.notify();
    await this.#renewing;
    return this.#handle;
  }

  async #keepRenewed(): Promise<void> {
    const { clock, options } = this.#io;
    const { leaseMs } = options;
    const backOff = new BackOff(retries(leaseMs), this.#io);
    const never = new AbortController().signal;
    let dueAtMs = this.#endsAtMs - leaseMs / 2;
    let failure: { readonly error: unknown } | undefined;
    while (!this.#isEnding) {
      await this.#ending.wait(clock, Math.max(0, Math.min(dueAtMs, this.#endsAtMs) - clock.monotonicMs()), never);
      if (this.#isEnding) return;
      if (failure && clock.monotonicMs() >= this.#endsAtMs) return this.#lose(failure.error);
      try {
        await this.#renew(this.#handle ?? this.#message);
        backOff.reset();
        failure = undefined;
        dueAtMs = this.#endsAtMs - leaseMs / 2;
      } catch (error) {
        if (isTaken(error)) return this.#lose(error);
        failure = { error };
        dueAtMs = clock.monotonicMs() + backOff.nextMs();
      }
    }
  }

  async #renew(handle: MessageHandle): Promise<void> {
    const { clock, queue, cut, options } = this.#io;
    const { leaseMs } = options;
    const askedAtMs = clock.monotonicMs();
    const leftMs = this.#endsAtMs - askedAtMs;
    // After a suspended machine wakes up late, the renewal is still tried: it succeeds if no consumer has the message.
    const withinMs = leftMs > 0 ? Math.min(requestTimeoutMs, leftMs) : lateMs;
    this.#handle = await withDeadline(clock, withinMs, cut, (signal) => queue.hide(handle, leaseMs, signal));
    this.#endsAtMs = askedAtMs + leaseMs;
  }

  #lose(error: unknown): void {
    this.#handle = undefined;
    this.#onLost(error);
    this.#lost.abort(new Error('the lease of this message is lost', { cause: error }));
  }
}

/** Whether the service reports that this lease is over. */
function isTaken(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'message-gone' || failure === 'receipt-outdated' || failure === 'queue-missing';
}
