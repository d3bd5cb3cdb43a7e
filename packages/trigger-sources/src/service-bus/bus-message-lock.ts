import { defineStates, hasCode } from '@drover/contracts';
import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { serviceBusLockUnknown, serviceBusUnavailable } from '../errors.js';
import type { LockedMessage } from '../locked-messages.js';
import type { BusOutcome } from './bus-clients.js';
import type { BusMessage } from './bus-message.js';
import { failureOfBus, isSettledAlready } from './failures.js';
import { lockEndMs, type LockRenewals, type RenewableLock } from './lock-renewals.js';
import type { ServiceBusObservation } from './observations.js';
import type { SettlementDone } from './peek-lock-link.js';

/**
 * - locked: held by this process, waiting or running
 * - settling: its outcome is sent to the service
 * - settled: the service has confirmed an outcome
 * - lost: another consumer may have it
 * - left: nothing is sent for it; the service delivers it again when its lock expires
 */
export const serviceBusMessageStates = defineStates('service bus message', {
  locked: ['settling', 'lost', 'left'],
  settling: ['settled', 'lost', 'left'],
  settled: [],
  lost: [],
  left: [],
});

/** The receiver that a message came from. */
export interface MessageLink {
  /** Undefined if the lock of a session covers the message: then it is not renewed alone. */
  readonly renewMessage: ((message: BusMessage) => Promise<Date>) | undefined;
  /** Calls `done` when the service has confirmed the outcome, or at once with an error when the connection is lost. */
  settle(message: BusMessage, outcome: BusOutcome, done: SettlementDone): void;
  /** Called once per message, when the link may receive another one in its place. */
  returnCredit(lock: BusMessageLock): void;
  /** Called once, when the message is settled, lost or left. `isSettled`: the service has confirmed its outcome. */
  finished(lock: BusMessageLock, isSettled: boolean): void;
}

/** Why the service has not confirmed an outcome. */
interface SettleFailure {
  readonly error: unknown;
}

/** What all messages of a listener share. */
export interface MessageIo {
  readonly functionName: string;
  readonly entityName: string;
  readonly maxRenewalMs: number;
  readonly renewals: LockRenewals;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
  /** Aborts requests and retries: messages are delivered again when their locks expire. */
  readonly cut: AbortSignal;
  /** Called once per message, when it is settled, lost or left. */
  readonly onFinished: (lock: BusMessageLock) => void;
}

const ignore = (): void => undefined;
const retries = { firstMs: 100, maxMs: 5_000, factor: 2 };

/** One message that this process has locked, from its receipt until it is settled, lost or left. It is settled at most once. */
export class BusMessageLock implements RenewableLock, LockedMessage {
  readonly message: BusMessage;
  readonly receivedAtMs: number;
  readonly #link: MessageLink;
  readonly #io: MessageIo;
  readonly #state = serviceBusMessageStates.start('locked');
  #endsAtMs: number;
  #renewUntilMs: number;
  #isCreditReturned = false;
  /** Called when the lock is lost while nothing is being sent. */
  onGone: (lock: BusMessageLock) => void = ignore;

  constructor(message: BusMessage, link: MessageLink, io: MessageIo) {
    this.message = message;
    this.#link = link;
    this.#io = io;
    this.receivedAtMs = io.clock.monotonicMs();
    this.#endsAtMs = lockEndMs(io.clock, message.lockedUntilMs);
    this.#renewUntilMs = this.receivedAtMs + io.maxRenewalMs;
    if (link.renewMessage) io.renewals.add(this);
  }

  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  get renewUntilMs(): number {
    return this.#renewUntilMs;
  }

  get isLocked(): boolean {
    return this.#state.is('locked');
  }

  get isLost(): boolean {
    return this.#state.is('lost');
  }

  returnCredit(): void {
    if (this.#isCreditReturned) return;
    this.#isCreditReturned = true;
    this.#link.returnCredit(this);
  }

  /** Renews the lock for as long as it is held: the message waits for its redelivery. */
  renewFor(delayMs: number): void {
    this.#renewUntilMs = Math.max(this.#renewUntilMs, this.#io.clock.monotonicMs() + delayMs);
  }

  /** Extends the lock, for the renewals and for the function itself. */
  async renew(): Promise<Date> {
    const { renewMessage } = this.#link;
    if (!renewMessage || !this.isLocked) throw this.#unknown();
    const until = await renewMessage(this.message);
    this.#endsAtMs = lockEndMs(this.#io.clock, until.getTime());
    return until;
  }

  /** Settles the message if it is locked. Calls `done` once, with the failure if the service has not confirmed it. */
  settle(outcome: BusOutcome, done: (failure?: SettleFailure) => void): void {
    if (!this.#state.is('locked')) return done({ error: this.#unknown() });
    this.#state.move('settling');
    this.#io.renewals.remove(this);
    this.#send(outcome, done, undefined);
  }

  complete(): Promise<void> {
    return this.#settleByFunction({ kind: 'complete' });
  }

  abandon(properties?: Parameters<LockedMessage['abandon']>[0]): Promise<void> {
    return this.#settleByFunction({ kind: 'abandon', properties });
  }

  defer(properties?: Parameters<LockedMessage['defer']>[0]): Promise<void> {
    return this.#settleByFunction({ kind: 'defer', properties });
  }

  deadLetter(details: Parameters<LockedMessage['deadLetter']>[0]): Promise<void> {
    return this.#settleByFunction({ kind: 'deadLetter', ...details });
  }

  /** Stops renewing: the service delivers the message again when its lock expires. */
  leave(): void {
    if (!this.#state.is('locked')) return;
    this.#io.renewals.remove(this);
    this.#end('left');
  }

  /** The lock has expired, or the service has given the message to another consumer. */
  onLost(error: unknown): void {
    if (!this.#state.is('locked')) return;
    this.#observeLost(error);
    this.onGone(this);
  }

  about(messages = 1) {
    const { functionName, entityName: entity } = this.#io;
    const { messageId, deliveryCount } = this.message;
    return { functionName, entity, messages, messageId: messageId ?? '', deliveryCount };
  }

  async #settleByFunction(outcome: BusOutcome): Promise<void> {
    const failed = await new Promise<SettleFailure | undefined>((resolve) => this.settle(outcome, resolve));
    if (!failed) {
      const { kind } = outcome;
      this.#io.observe({ kind: 'service-bus.settled-by-function', ...this.about(), outcome: kind });
      return;
    }
    if (hasCode(failed.error, 'SERVICE_BUS_LOCK_UNKNOWN')) throw failed.error;
    if (failureOfBus(failed.error) === 'lock-lost') throw this.#unknown(failed.error);
    const reason = failed.error instanceof Error ? failed.error.message : String(failed.error);
    throw serviceBusUnavailable({ entity: this.#io.entityName, operation: outcome.kind, reason }, failed.error);
  }

  #send(outcome: BusOutcome, done: (failure?: SettleFailure) => void, backOff: BackOff | undefined): void {
    this.#link.settle(this.message, outcome, (error) => {
      if (error === undefined || isSettledAlready(error)) {
        this.#end('settled');
        done();
      } else void this.#sendAgain(outcome, error, done, backOff);
    });
  }

  /** Retries while the lock lasts. */
  async #sendAgain(
    outcome: BusOutcome,
    error: unknown,
    done: (failure?: SettleFailure) => void,
    before: BackOff | undefined,
  ): Promise<void> {
    const { clock, randomness, cut, observe } = this.#io;
    const failure = failureOfBus(error);
    const leftMs = this.#endsAtMs - clock.monotonicMs();
    if (failure !== 'lock-lost' && failure !== 'refused' && leftMs > 0 && !cut.aborted) {
      const backOff = before ?? new BackOff(retries, { clock, randomness });
      await sleep(clock, Math.min(backOff.nextMs(), leftMs), cut).catch(() => undefined);
      return this.#send(outcome, done, backOff);
    }
    if (failure === 'lock-lost') this.#observeLost(error);
    else {
      observe({ kind: 'service-bus.settlement-failed', ...this.about(), action: outcome.kind, error });
      this.#end('left');
    }
    done({ error });
  }

  #observeLost(error: unknown): void {
    this.#io.observe({ kind: 'service-bus.lock-lost', ...this.about(), error });
    this.#end('lost');
  }

  #end(state: 'settled' | 'lost' | 'left'): void {
    this.#state.move(state);
    this.#link.finished(this, state === 'settled');
    this.#io.onFinished(this);
    this.returnCredit();
  }

  #unknown(cause?: unknown): Error {
    return serviceBusLockUnknown({ what: 'message', id: this.message.lockToken ?? '' }, cause);
  }
}
