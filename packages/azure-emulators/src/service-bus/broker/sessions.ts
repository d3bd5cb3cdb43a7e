import { BrokerError, sessionLockLost } from './broker-error.js';
import { Lane } from './lane.js';
import type { SessionLock } from './message.js';

export interface Session {
  readonly id: string;
  readonly lane: Lane;
  /** Messages of the session in any state. */
  messages: number;
  state: Buffer | undefined;
  updatedAtMs: number;
  lock: SessionLock | undefined;
}

/**
 * The sessions of one queue or subscription. A session exists while it has messages, state or a lock.
 * - waiting: unlocked with an active message; in `#ready`, in the order in which it became so
 * - idle: unlocked without an active message
 * - locked: one receiver has it until its lock ends; `#locked` is ordered by expiry, since all locks last equally long until
 *   the lock duration of the entity changes
 */
export class SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #ready = new Set<Session>();
  readonly #locked = new Map<string, Session>();
  #isOrdered = true;

  get(sessionId: string): Session | undefined {
    return this.#sessions.get(sessionId);
  }

  ensure(sessionId: string): Session {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = { id: sessionId, lane: new Lane(), messages: 0, state: undefined, updatedAtMs: 0, lock: undefined };
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** Call after a message was added to, or taken from, the lane of an unlocked session. */
  noteLane(session: Session): void {
    if (session.lock === undefined && session.lane.peek() !== undefined) this.#ready.add(session);
  }

  /** Forgets a session that has nothing left. */
  noteEmpty(session: Session): void {
    if (session.messages > 0 || session.state !== undefined || session.lock !== undefined) return;
    this.#ready.delete(session);
    this.#sessions.delete(session.id);
  }

  /** Whether an unlocked session has a message. */
  get hasWaiting(): boolean {
    for (const session of this.#ready) {
      if (session.lane.peek() !== undefined) return true;
      this.#ready.delete(session);
    }
    return false;
  }

  /** Locks the session that has waited longest, or returns undefined. */
  lockNext(nowMs: number, durationMs: number): SessionLock | undefined {
    for (const session of this.#ready) {
      this.#ready.delete(session);
      if (session.lane.peek() !== undefined) return this.#lock(session, nowMs, durationMs);
    }
    return undefined;
  }

  /** Locks one session, which need not have messages. Throws `session-cannot-be-locked` if another receiver has it. */
  lockNamed(sessionId: string, nowMs: number, durationMs: number): SessionLock {
    const session = this.ensure(sessionId);
    if (session.lock !== undefined) {
      throw new BrokerError('session-cannot-be-locked', `The session '${sessionId}' is locked by another receiver.`);
    }
    this.#ready.delete(session);
    return this.#lock(session, nowMs, durationMs);
  }

  renew(lock: SessionLock, nowMs: number, durationMs: number): void {
    const session = this.#held(lock);
    lock.untilMs = nowMs + durationMs;
    for (const message of lock.messages) message.untilMs = lock.untilMs;
    this.#locked.delete(session.id);
    this.#locked.set(session.id, session);
  }

  /** Ends a lock; the caller returns its messages first. Does nothing if the lock has ended already. */
  unlock(lock: SessionLock): void {
    const session = this.#sessions.get(lock.sessionId);
    if (session?.lock !== lock) return;
    session.lock = undefined;
    this.#locked.delete(session.id);
    this.noteLane(session);
    this.noteEmpty(session);
  }

  isHeld(lock: SessionLock): boolean {
    return this.#sessions.get(lock.sessionId)?.lock === lock;
  }

  durationChanged(): void {
    this.#isOrdered = this.#locked.size === 0;
  }

  firstExpired(nowMs: number): SessionLock | undefined {
    for (const { lock } of this.#locked.values()) {
      if (lock !== undefined && lock.untilMs <= nowMs) return lock;
      if (this.#isOrdered) return undefined;
    }
    return undefined;
  }

  nextDeadlineMs(): number {
    let next = Infinity;
    for (const { lock } of this.#locked.values()) {
      next = Math.min(next, lock?.untilMs ?? Infinity);
      if (this.#isOrdered) break;
    }
    return next;
  }

  #held(lock: SessionLock): Session {
    const session = this.#sessions.get(lock.sessionId);
    if (session?.lock === lock) return session;
    throw sessionLockLost(lock.sessionId);
  }

  #lock(session: Session, nowMs: number, durationMs: number): SessionLock {
    const lock: SessionLock = { sessionId: session.id, messages: new Set(), untilMs: nowMs + durationMs };
    session.lock = lock;
    this.#locked.set(session.id, session);
    return lock;
  }
}
