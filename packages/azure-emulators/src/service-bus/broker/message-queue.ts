import type { PropertyChanges } from '../filters/sql-values.js';
import { BrokerError, messageLockLost, messageNotFound, sessionLockLost } from './broker-error.js';
import { DuplicateHistory } from './duplicate-history.js';
import type { EntitySettings } from './entity-options.js';
import { LockTable } from './lock-table.js';
import {
  newMessage,
  type BrokerMessage,
  type DeadLetterReason,
  type MessageContent,
  type MessageLock,
  type MovedMessage,
  type RestoredMessages,
  type SessionLock,
} from './message.js';
import type { QueueParts } from './queue-parts.js';
import { QueueStore } from './queue-store.js';

/**
 * Holds messages for receivers: the main part of a queue or a subscription, or a dead-letter queue.
 * Every method takes the time and first lets what is due happen, so a lock that has expired is never honoured.
 *
 * A message waits → is locked → is completed (removed), abandoned or expired (waits again, counted; at the maximum it is
 * dead-lettered), deferred (received by number only) or dead-lettered. Receive-and-delete removes it when it is handed out.
 */
export class MessageQueue {
  readonly path: string;
  readonly #parts: QueueParts;
  readonly #store: QueueStore;
  readonly #locks = new LockTable();
  readonly history: DuplicateHistory;
  #settings: EntitySettings;

  constructor(path: string, settings: EntitySettings, parts: QueueParts) {
    this.path = path;
    this.#parts = parts;
    this.#settings = settings;
    this.#store = new QueueStore(settings.requiresSession && !this.isDeadLetterQueue, parts.budget);
    this.history = new DuplicateHistory(parts.budget);
  }

  get isDeadLetterQueue(): boolean {
    return this.#parts.deadLetter === undefined;
  }

  get hasSessions(): boolean {
    return this.#store.hasSessions;
  }

  /** Read-only for callers: every change goes through the methods below. */
  get store(): QueueStore {
    return this.#store;
  }

  /** Applies changed settings. Locks that are held keep their end. */
  configure(settings: EntitySettings): void {
    if (settings.lockDurationMs !== this.#settings.lockDurationMs) {
      this.#locks.durationChanged();
      this.#store.sessions.durationChanged();
    }
    this.#settings = settings;
    if (settings.requiresSession && !this.isDeadLetterQueue && !this.#store.hasSessions) this.#store.startSessions();
  }

  /** Adds a message that waits for a receiver. */
  add(content: MessageContent, nowMs: number, moved?: MovedMessage): void {
    const expiresAtMs = this.#expiry(content, nowMs);
    this.#insert(newMessage(content, this.#store.lastSequenceNumber + 1, nowMs, { expiresAtMs, moved }));
    this.#parts.onAvailable();
  }

  /** Keeps a message until its time; it then becomes a new message with a new number. Returns the number that cancels it. */
  schedule(content: MessageContent, activatesAtMs: number, nowMs: number): number {
    const message = newMessage(content, this.#store.lastSequenceNumber + 1, nowMs, { activatesAtMs });
    this.#insert(message);
    return message.sequenceNumber;
  }

  /** Removes scheduled messages: all of them, or none if one is not there (`message-not-found`). */
  cancelScheduled(sequenceNumbers: readonly number[], nowMs: number): void {
    this.advance(nowMs);
    const messages = sequenceNumbers.map((number) => this.#find(number, 'scheduled'));
    for (const message of messages) this.#remove(message);
  }

  /** Locks the next message, or returns undefined. A queue with sessions needs the lock of one. */
  lockNext(nowMs: number, session?: SessionLock): MessageLock | undefined {
    const message = this.#next(nowMs, session);
    return message === undefined ? undefined : this.#lock(message, nowMs, session);
  }

  /** Removes and returns the next message (receive-and-delete), or returns undefined. */
  removeNext(nowMs: number, session?: SessionLock): BrokerMessage | undefined {
    const message = this.#next(nowMs, session);
    if (message !== undefined) this.#remove(message);
    return message;
  }

  /** Locks deferred messages by number: all of them, or none if one is not there (`message-not-found`). */
  lockDeferred(sequenceNumbers: readonly number[], nowMs: number, session?: SessionLock): MessageLock[] {
    return this.#deferred(sequenceNumbers, nowMs).map((message) => this.#lock(message, nowMs, session));
  }

  removeDeferred(sequenceNumbers: readonly number[], nowMs: number): BrokerMessage[] {
    const messages = this.#deferred(sequenceNumbers, nowMs);
    for (const message of messages) this.#remove(message);
    return messages;
  }

  /** Finds a held lock. Throws `message-lock-lost`. */
  lockOf(token: string, nowMs: number): MessageLock {
    this.advance(nowMs);
    const lock = this.#locks.get(token);
    if (lock === undefined) throw messageLockLost();
    return lock;
  }

  complete(lock: MessageLock, nowMs: number): void {
    this.#checkHeld(lock, nowMs);
    this.#remove(lock.message);
  }

  abandon(lock: MessageLock, nowMs: number, changes?: PropertyChanges): void {
    this.#checkHeld(lock, nowMs);
    this.#return(lock.message, nowMs, changes);
  }

  defer(lock: MessageLock, nowMs: number, changes?: PropertyChanges): void {
    this.#checkHeld(lock, nowMs);
    const { message } = lock;
    this.#unlock(message);
    this.#store.setState(message, 'deferred');
    if (changes !== undefined) this.#store.setContent(message, message.content.with(changes));
    this.#parts.log.message(this.path, message);
  }

  deadLetter(lock: MessageLock, nowMs: number, reason: DeadLetterReason): void {
    this.#checkHeld(lock, nowMs);
    this.giveUp(lock.message, nowMs, reason);
  }

  /** Ends a lock whose message never reached its receiver: it waits again and nothing is counted. */
  giveBack(lock: MessageLock, nowMs: number): void {
    const { message } = lock;
    if (message.lock !== lock) return;
    this.#unlock(message);
    this.#parts.log.returned(this.path, message.sequenceNumber, message.deliveryCount);
    if (message.state !== 'active') return;
    if (message.expiresAtMs <= nowMs) this.#expire(message, nowMs);
    else this.#waitAgain(message);
  }

  /** Moves a message to where dead letters go. In a dead-letter queue it stays, with the new reason. */
  giveUp(message: BrokerMessage, nowMs: number, { reason, description, changes }: DeadLetterReason): void {
    const user = new Map(changes?.user);
    user.set('DeadLetterReason', reason).set('DeadLetterErrorDescription', description);
    const content = message.content.with({ system: changes?.system ?? new Map(), user });
    if (this.#parts.deadLetter !== undefined) {
      this.#remove(message);
      this.#parts.deadLetter(content, message, nowMs);
      return;
    }
    this.#unlock(message);
    this.#store.setContent(message, content);
    this.#store.setState(message, 'active');
    this.#parts.log.message(this.path, message);
    this.#waitAgain(message);
  }

  /** Extends a lock and returns its new end. Throws if it is lost, or if its session's lock decides. */
  renew(lock: MessageLock, nowMs: number): number {
    this.#checkHeld(lock, nowMs);
    if (lock.session !== undefined) {
      throw new BrokerError(
        'not-allowed',
        'A message of a session has no lock of its own. Renew the lock of the session.',
      );
    }
    this.#locks.renew(lock, nowMs + this.#settings.lockDurationMs);
    this.#parts.onDeadline(lock.untilMs);
    return lock.untilMs;
  }

  /** Messages in any state from a number on, in order. Nothing changes. */
  peek(fromSequenceNumber: number, count: number, nowMs: number, sessionId?: string): BrokerMessage[] {
    this.advance(nowMs);
    return this.#store.select({ from: fromSequenceNumber, count, sessionId }, () => true);
  }

  /** Deletes up to `count` waiting messages that were enqueued before a time, oldest first. Returns how many. */
  deleteWaiting(count: number, beforeMs: number, nowMs: number, sessionId?: string): number {
    this.advance(nowMs);
    const found = this.#store.select(
      { count, sessionId },
      ({ state, lock, enqueuedAtMs }) => state === 'active' && lock === undefined && enqueuedAtMs <= beforeMs,
    );
    for (const message of found) this.#remove(message);
    return found.length;
  }

  /** Deletes one message whatever its state; a receiver that has it locked loses its lock. */
  delete(message: BrokerMessage): void {
    if (message.state !== 'removed') this.#remove(message);
  }

  /** Deletes every message, or those that no receiver has locked. Returns how many there were. */
  purge(which: 'all' | 'unlocked'): number {
    const found = this.#store.select({}, ({ lock }) => which === 'all' || lock === undefined);
    for (const message of found) this.#remove(message);
    return found.length;
  }

  lockSession(sessionId: string | undefined, nowMs: number): SessionLock | undefined {
    this.advance(nowMs);
    const { sessions } = this.#store;
    const lock =
      sessionId === undefined
        ? sessions.lockNext(nowMs, this.#settings.lockDurationMs)
        : sessions.lockNamed(sessionId, nowMs, this.#settings.lockDurationMs);
    if (lock !== undefined) this.#parts.onDeadline(lock.untilMs);
    return lock;
  }

  renewSession(lock: SessionLock, nowMs: number): number {
    this.advance(nowMs);
    this.#store.sessions.renew(lock, nowMs, this.#settings.lockDurationMs);
    this.#parts.onDeadline(lock.untilMs);
    return lock.untilMs;
  }

  /** Ends a session's lock. Its unsettled messages wait again, counted. */
  releaseSession(lock: SessionLock, nowMs: number): void {
    if (!this.#store.sessions.isHeld(lock)) return;
    for (const { message } of lock.messages) this.#return(message, nowMs);
    this.#store.sessions.unlock(lock);
    this.#parts.onAvailable();
  }

  isSessionHeld(lock: SessionLock, nowMs: number): boolean {
    this.advance(nowMs);
    return this.#store.sessions.isHeld(lock);
  }

  /** Sets or clears the state of a session. Throws `quota-exceeded`. */
  setSessionState(sessionId: string, state: Buffer | undefined, nowMs: number): void {
    const session = this.#store.sessions.ensure(sessionId);
    this.#store.setSessionState(session, state);
    session.updatedAtMs = nowMs;
    this.#parts.log.sessionState(this.path, sessionId, state);
    this.#store.sessions.noteEmpty(session);
  }

  /** Takes over what a restart found on disk, before anything else happens. */
  restore(found: RestoredMessages): void {
    this.#store.lastSequenceNumber = found.lastSequenceNumber;
    for (const [id, state] of found.sessionStates) this.#store.setSessionState(this.#store.sessions.ensure(id), state);
    for (const [messageId, atMs] of found.seen) this.history.add(messageId, atMs);
    for (const message of found.messages) this.#store.insert(message);
    this.#parts.onDeadline(this.nextDeadlineMs());
  }

  /** Counts a delivery of the former process, whose lock ended with it. */
  countLostDelivery(sequenceNumber: number, nowMs: number): void {
    const message = this.#store.index.get(sequenceNumber);
    if (message !== undefined) this.#countDelivery(message, nowMs);
  }

  /** Lets everything happen that is due: locks and messages expire, scheduled messages appear. Returns when to call again. */
  advance(nowMs: number): number {
    for (let due = this.#store.shiftActivated(nowMs); due !== undefined; due = this.#store.shiftActivated(nowMs)) {
      this.#remove(due);
      this.#parts.activate(due.content, nowMs);
    }
    for (let due = this.#store.shiftExpired(nowMs); due !== undefined; due = this.#store.shiftExpired(nowMs)) {
      this.#expire(due, nowMs);
    }
    if (this.#store.hasSessions) {
      for (let lock = this.#store.sessions.firstExpired(nowMs); lock; lock = this.#store.sessions.firstExpired(nowMs)) {
        this.releaseSession(lock, nowMs);
      }
    } else {
      for (let lock = this.#locks.firstExpired(nowMs); lock !== undefined; lock = this.#locks.firstExpired(nowMs)) {
        this.#return(lock.message, nowMs);
      }
    }
    return this.nextDeadlineMs();
  }

  nextDeadlineMs(): number {
    const locks = this.#store.hasSessions ? this.#store.sessions : this.#locks;
    return Math.min(this.#store.nextDeadlineMs(), locks.nextDeadlineMs());
  }

  #expiry(content: MessageContent, nowMs: number): number {
    if (this.isDeadLetterQueue) return Infinity;
    return nowMs + Math.min(content.timeToLiveMs ?? Infinity, this.#settings.defaultMessageTimeToLiveMs ?? Infinity);
  }

  #insert(message: BrokerMessage): void {
    this.#store.insert(message);
    this.#parts.log.message(this.path, message);
    const due = Math.min(message.expiresAtMs, message.activatesAtMs ?? Infinity);
    if (due !== Infinity) this.#parts.onDeadline(due);
  }

  #next(nowMs: number, session: SessionLock | undefined): BrokerMessage | undefined {
    this.advance(nowMs);
    if (session !== undefined && !this.#store.sessions.isHeld(session)) return undefined;
    return this.#store.shift(session?.sessionId);
  }

  #lock(message: BrokerMessage, nowMs: number, session: SessionLock | undefined): MessageLock {
    const untilMs = session?.untilMs ?? nowMs + this.#settings.lockDurationMs;
    const lock: MessageLock = { token: this.#parts.nextLockToken(), message, session, untilMs };
    this.#store.setLock(message, lock);
    this.#locks.hold(lock);
    session?.messages.add(lock);
    this.#parts.log.delivered(this.path, message.sequenceNumber);
    if (this.#locks.size === 1) this.#parts.onDeadline(untilMs);
    return lock;
  }

  #unlock(message: BrokerMessage): void {
    const { lock } = message;
    if (lock === undefined) return;
    this.#locks.release(lock);
    lock.session?.messages.delete(lock);
    this.#store.setLock(message, undefined);
  }

  #checkHeld(lock: MessageLock, nowMs: number): void {
    this.advance(nowMs);
    if (lock.message.lock === lock) return;
    throw lock.session === undefined ? messageLockLost() : sessionLockLost(lock.session.sessionId);
  }

  /** A delivery failed: the message waits again, or is given up. */
  #return(message: BrokerMessage, nowMs: number, changes?: PropertyChanges): void {
    this.#unlock(message);
    if (changes !== undefined) this.#store.setContent(message, message.content.with(changes));
    if (!this.#countDelivery(message, nowMs)) return;
    if (changes !== undefined) this.#parts.log.message(this.path, message);
    if (message.state === 'active') this.#waitAgain(message);
  }

  #waitAgain(message: BrokerMessage): void {
    this.#store.putBack(message);
    this.#parts.onAvailable();
  }

  /** Counts a delivery that failed. Returns false if it was the last one, or if the message has expired meanwhile. */
  #countDelivery(message: BrokerMessage, nowMs: number): boolean {
    message.deliveryCount += 1;
    if (!this.isDeadLetterQueue && message.deliveryCount >= this.#settings.maxDeliveryCount) {
      const description = `Message could not be consumed after ${message.deliveryCount} delivery attempts.`;
      this.giveUp(message, nowMs, { reason: 'MaxDeliveryCountExceeded', description });
      return false;
    }
    if (message.expiresAtMs <= nowMs && message.state === 'active') {
      this.#expire(message, nowMs);
      return false;
    }
    this.#parts.log.returned(this.path, message.sequenceNumber, message.deliveryCount);
    return true;
  }

  #expire(message: BrokerMessage, nowMs: number): void {
    if (!this.#settings.deadLetteringOnMessageExpiration) {
      this.#remove(message);
      return;
    }
    const description = 'The message expired and was dead lettered.';
    this.giveUp(message, nowMs, { reason: 'TTLExpiredException', description });
  }

  #remove(message: BrokerMessage): void {
    this.#unlock(message);
    this.#store.remove(message);
    this.#parts.log.removed(this.path, message.sequenceNumber);
  }

  #deferred(sequenceNumbers: readonly number[], nowMs: number): BrokerMessage[] {
    this.advance(nowMs);
    const messages = sequenceNumbers.map((number) => this.#find(number, 'deferred'));
    const expired = messages.filter((message) => message.expiresAtMs <= nowMs);
    for (const message of expired) this.#expire(message, nowMs);
    if (expired.length > 0) throw messageNotFound(expired.map((message) => message.sequenceNumber));
    return messages;
  }

  #find(sequenceNumber: number, state: BrokerMessage['state']): BrokerMessage {
    const message = this.#store.index.get(sequenceNumber);
    if (message === undefined || message.state !== state || message.lock !== undefined)
      throw messageNotFound([sequenceNumber]);
    return message;
  }
}
