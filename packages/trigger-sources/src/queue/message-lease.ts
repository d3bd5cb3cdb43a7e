import { BackOff, WakeUp, type BackOffPolicy, type Clock, type Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from './requests.js';
import { failureOf, type MessageHandle, type QueueMessage, type StorageQueue } from './storage-queue.js';

interface MessageLeaseOptions {
  readonly queue: StorageQueue;
  readonly message: QueueMessage;
  /** On the monotonic clock, before the message was asked for: the service cannot have begun to count earlier. */
  readonly askedAtMs: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Cuts requests that are under way. */
  readonly cut: AbortSignal;
  readonly onLost: (error: unknown) => void;
}

/** Pauses of a twentieth of the lease at most, so that a service that comes back late still hears of us. */
const retries = (leaseMs: number): BackOffPolicy => ({
  firstMs: 250,
  maxMs: Math.min(15_000, leaseMs / 20),
  factor: 2,
});
/** For a request that comes too late anyway. */
const lateMs = 1_000;

/**
 * Our right to one message, renewed at half time. Rules:
 * - Each renewal changes the receipt, so nobody else may use the message's handle before `end` has given out the newest.
 * - A renewal that fails is tried again while the lease lasts. The lease is lost when the service says that another one
 *   has the message, or when its time is up: not earlier, and never silently.
 */
export class MessageLease {
  readonly #options: MessageLeaseOptions;
  readonly #lost = new AbortController();
  readonly #ending = new WakeUp();
  readonly #kept: Promise<void>;
  #isEnding = false;
  /** Undefined once the message is another one's. */
  #handle: MessageHandle | undefined;
  #endsAtMs: number;

  constructor(options: MessageLeaseOptions) {
    this.#options = options;
    this.#handle = options.message;
    this.#endsAtMs = options.askedAtMs + options.leaseMs;
    this.#kept = this.#keep();
  }

  /** Aborts when the message is no longer ours, or was given up. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** On the monotonic clock. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  /** Tells whoever runs the message that its outcome does not count any more. */
  giveUp(reason: Error): void {
    this.#lost.abort(reason);
  }

  /** Renews no more; resolves with the handle to settle the message by, or undefined when it is not ours any more. */
  async end(): Promise<MessageHandle | undefined> {
    this.#isEnding = true;
    this.#ending.notify();
    await this.#kept;
    return this.#handle;
  }

  async #keep(): Promise<void> {
    const { clock, leaseMs, message } = this.#options;
    const backOff = new BackOff(retries(leaseMs), this.#options);
    const never = new AbortController().signal;
    let dueAtMs = this.#endsAtMs - leaseMs / 2;
    let failure: { readonly error: unknown } | undefined;
    while (!this.#isEnding) {
      await this.#ending.wait(clock, Math.max(0, Math.min(dueAtMs, this.#endsAtMs) - clock.monotonicMs()), never);
      if (this.#isEnding) return;
      if (failure && clock.monotonicMs() >= this.#endsAtMs) return this.#lose(failure.error);
      try {
        await this.#renew(this.#handle ?? message);
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
    const { clock, queue, leaseMs, cut } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const leftMs = this.#endsAtMs - askedAtMs;
    // A machine that slept through the end asks all the same: if nobody else took the message, it is still ours.
    const withinMs = leftMs > 0 ? Math.min(requestTimeoutMs, leftMs) : lateMs;
    this.#handle = await withDeadline(clock, withinMs, cut, (signal) => queue.hide(handle, leaseMs, signal));
    this.#endsAtMs = askedAtMs + leaseMs;
  }

  #lose(error: unknown): void {
    this.#handle = undefined;
    this.#options.onLost(error);
    this.#lost.abort(new Error('the lease of this message is lost', { cause: error }));
  }
}

/** Whether the service says that the message is not ours. */
function isTaken(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'message-gone' || failure === 'receipt-outdated' || failure === 'queue-missing';
}
