import type { ServiceBusReceivedMessage, ServiceBusSessionReceiver } from '@azure/service-bus';
import type { Clock } from '@drover/service-kit';
import type { LockedSession } from '../locked-messages.js';
import { outcomeKey, settleReceived, type BusOutcome } from './bus-clients.js';
import { ofSdkMessage, type BusMessage } from './bus-message.js';
import { CreditReturns } from './credit-returns.js';
import type { DeliveryLane } from './delivery-lane.js';
import { lockEndMs, type LockRenewals, type RenewableLock } from './lock-renewals.js';
import type { MessageLink, BusMessageLock } from './bus-message-lock.js';
import { OutcomeTurns } from './outcome-turns.js';
import type { SettlementDone } from './peek-lock-link.js';
import { PendingSettlements } from './pending-settlements.js';

interface SessionLinkOptions {
  readonly receiver: ServiceBusSessionReceiver;
  readonly credits: number;
  readonly idleMs: number;
  readonly maxRenewalMs: number;
  readonly renewals: LockRenewals;
  readonly clock: Clock;
  readonly createLane: (onIdle: () => void) => DeliveryLane;
  readonly onMessage: (message: BusMessage, link: MessageLink, lane: DeliveryLane) => BusMessageLock;
}

/** The SDK bounds unsettled deliveries per receiver; messages that the function leaves unsettled use them up. */
const mostLeft = 1_000;
/** A new session has messages: they need a moment to come. */
const shortestIdleMs = 50;

/**
 * One locked session. Its messages come in order, and the next one only when the one before is settled (or as many at a time
 * as maxConcurrentCallsPerSession allows). The lock of the session is renewed while messages run and between them; when it is
 * lost, so are all its messages.
 */
export class SessionLink implements MessageLink, RenewableLock, LockedSession {
  /** The lock of the session covers its messages. */
  readonly renewMessage = undefined;
  readonly lane: DeliveryLane;
  readonly #options: SessionLinkOptions;
  readonly #pending = new PendingSettlements();
  readonly #turns = new OutcomeTurns();
  readonly #creditReturns = new CreditReturns();
  readonly #messages = new Set<BusMessageLock>();
  readonly #credits = new Map<BusMessageLock, () => void>();
  /** The SDK settles the messages that it gave. */
  readonly #received = new WeakMap<BusMessage, ServiceBusReceivedMessage>();
  #endsAtMs: number;
  #left = 0;
  #cancelIdle: (() => void) | undefined;
  #onEmpty: () => void = () => undefined;
  #end: (failure: { readonly error: unknown } | undefined) => void = () => undefined;
  readonly #ended = new Promise<{ readonly error: unknown } | undefined>((resolve) => (this.#end = resolve));

  constructor(options: SessionLinkOptions) {
    this.#options = options;
    this.#endsAtMs = lockEndMs(options.clock, options.receiver.sessionLockedUntilUtc?.getTime());
    this.lane = options.createLane(() => this.#waitForMore());
  }

  get sessionId(): string {
    return this.#options.receiver.sessionId;
  }

  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  /** Without a message the session is kept: it is released when it was idle for long enough. */
  get renewUntilMs(): number {
    const [oldest] = this.#messages;
    return oldest?.renewUntilMs ?? Number.POSITIVE_INFINITY;
  }

  /** Delivers messages until the session is idle, retired or lost, and all of them are finished. Never rejects. */
  async serve(): Promise<{ readonly error: unknown } | undefined> {
    const { receiver, credits, renewals } = this.#options;
    renewals.add(this);
    const subscription = receiver.subscribe(
      {
        processMessage: (message) => this.#receive(message),
        processError: async ({ error }) => this.#fail(error),
      },
      { autoCompleteMessages: false, maxConcurrentCalls: credits },
    );
    this.#waitForMore();
    const failure = await this.#ended;
    this.#cancelIdle?.();
    await subscription.close().catch(() => undefined);
    await this.#empty();
    renewals.remove(this);
    await receiver.close().catch(() => undefined);
    return failure;
  }

  retire(): void {
    this.#end(undefined);
  }

  settle(message: BusMessage, outcome: BusOutcome, done: SettlementDone): void {
    void this.#settle(message, outcome, done);
  }

  returnCredit(lock: BusMessageLock): void {
    const giveBack = this.#credits.get(lock);
    this.#credits.delete(lock);
    if (giveBack) this.#creditReturns.add(giveBack);
  }

  finished(lock: BusMessageLock, isSettled: boolean): void {
    this.#messages.delete(lock);
    if (!isSettled) this.#left += 1;
    if (this.#left >= mostLeft) this.retire();
    if (this.#messages.size === 0) this.#onEmpty();
  }

  async renew(): Promise<Date> {
    const until = await this.#options.receiver.renewSessionLock();
    this.#endsAtMs = lockEndMs(this.#options.clock, until.getTime());
    return until;
  }

  onLost(error: unknown): void {
    this.#fail(error);
  }

  async state(): Promise<Uint8Array | undefined> {
    const state: unknown = await this.#options.receiver.getSessionState();
    if (state === undefined || state === null) return undefined;
    // The SDK parses states that are JSON.
    return state instanceof Uint8Array ? state : Buffer.from(typeof state === 'string' ? state : JSON.stringify(state));
  }

  async setState(state: Uint8Array | undefined): Promise<void> {
    await this.#options.receiver.setSessionState(state && state.length > 0 ? Buffer.from(state) : null);
  }

  async release(): Promise<void> {
    this.retire();
  }

  /** Resolves when the SDK may receive another message in its place. */
  #receive(received: ServiceBusReceivedMessage): Promise<void> {
    this.#cancelIdle?.();
    const message = ofSdkMessage(received);
    this.#received.set(message, received);
    const lock = this.#options.onMessage(message, this, this.lane);
    if (lock.isLocked) this.#messages.add(lock);
    return new Promise((resolve) => this.#credits.set(lock, resolve));
  }

  async #settle(message: BusMessage, outcome: BusOutcome, done: SettlementDone): Promise<void> {
    try {
      await this.#turns.take(outcomeKey(outcome));
      const received = this.#received.get(message);
      if (this.#pending.isBroken || !received) throw sessionLost(this.sessionId);
      await this.#pending.track(settleReceived(this.#options.receiver, received, outcome));
    } catch (error) {
      return done(error);
    }
    done();
  }

  #waitForMore(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelIdle?.();
    this.#cancelIdle = clock.after(Math.max(shortestIdleMs, idleMs), () => {
      if (this.lane.isIdle) this.retire();
    });
  }

  #fail(error: unknown): void {
    this.#pending.break(sessionLost(this.sessionId, error));
    this.#end({ error });
    for (const lock of this.#messages) lock.onLost(error);
  }

  async #empty(): Promise<void> {
    if (this.#messages.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }
}

function sessionLost(sessionId: string, cause?: unknown): Error {
  return Object.assign(new Error(`the lock of session ${sessionId} is lost`, { cause }), { code: 'SessionLockLost' });
}
