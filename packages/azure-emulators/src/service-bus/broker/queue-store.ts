import { Heap } from './heap.js';
import { Lane } from './lane.js';
import type { MemoryBudget } from './memory-budget.js';
import { MessageIndex } from './message-index.js';
import {
  messageCost,
  type BrokerMessage,
  type MessageContent,
  type MessageLock,
  type MessageState,
} from './message.js';
import { SessionTable, type Session } from './sessions.js';

export interface MessageCounts {
  /** Messages that wait for a receiver. */
  active: number;
  /** Messages that a receiver has locked. */
  locked: number;
  deferred: number;
  scheduled: number;
}

/**
 * The messages of one queue and every order in which they are needed: by number, by turn (one lane, or one per session), by expiry and
 * by activation. All changes of state, lock or content go through here, so counters, bytes and orders always agree.
 */
export class QueueStore {
  readonly index = new MessageIndex();
  readonly sessions = new SessionTable();
  readonly counts: MessageCounts = { active: 0, locked: 0, deferred: 0, scheduled: 0 };
  bytes = 0;
  lastSequenceNumber = 0;
  #hasSessions: boolean;
  readonly #lane = new Lane();
  readonly #budget: MemoryBudget;
  readonly #expiring = new Heap<BrokerMessage>((left, right) => left.expiresAtMs < right.expiresAtMs);
  readonly #scheduled = new Heap<BrokerMessage>((left, right) => activation(left) < activation(right));

  constructor(hasSessions: boolean, budget: MemoryBudget) {
    this.#hasSessions = hasSessions;
    this.#budget = budget;
  }

  get hasSessions(): boolean {
    return this.#hasSessions;
  }

  /** Whether a receiver could get a message now. */
  get hasWaiting(): boolean {
    return this.#hasSessions ? this.sessions.hasWaiting : this.counts.active > 0;
  }

  /** Adds a message. An active one takes its turn at once. */
  insert(message: BrokerMessage): void {
    this.lastSequenceNumber = Math.max(this.lastSequenceNumber, message.sequenceNumber);
    this.index.add(message);
    this.#charge(messageCost(message.content));
    this.counts[category(message)] += 1;
    if (message.expiresAtMs !== Infinity) this.#expiring.push(message);
    if (message.activatesAtMs !== undefined) this.#scheduled.push(message);
    const session = this.#sessionOf(message);
    if (session !== undefined) session.messages += 1;
    if (message.state === 'active') this.#laneOf(message).append(message);
    if (session !== undefined) this.sessions.noteLane(session);
  }

  remove(message: BrokerMessage): void {
    this.setLock(message, undefined);
    this.counts[category(message)] -= 1;
    message.state = 'removed';
    this.index.remove(message);
    this.#charge(-messageCost(message.content));
    const session = this.#sessionOf(message);
    if (session !== undefined) {
      session.messages -= 1;
      this.sessions.noteEmpty(session);
    }
    this.#dropStale(this.#expiring);
    this.#dropStale(this.#scheduled);
  }

  setLock(message: BrokerMessage, lock: MessageLock | undefined): void {
    this.counts[category(message)] -= 1;
    message.lock = lock;
    this.counts[category(message)] += 1;
  }

  setState(message: BrokerMessage, state: MessageState): void {
    this.counts[category(message)] -= 1;
    message.state = state;
    this.counts[category(message)] += 1;
  }

  setContent(message: BrokerMessage, content: MessageContent): void {
    this.#charge(messageCost(content) - messageCost(message.content));
    message.content = content;
  }

  /** Stores a state. Throws `quota-exceeded` if a larger one does not fit into memory. */
  setSessionState(session: Session, state: Buffer | undefined): void {
    const added = (state?.length ?? 0) - (session.state?.length ?? 0);
    if (added > 0) this.#budget.check(added);
    this.#charge(added);
    session.state = state;
  }

  clearSessionStates(): void {
    for (const session of this.sessions.all()) this.setSessionState(session, undefined);
  }

  /** Finds messages of any state in the order of their numbers. */
  select(
    {
      from = 0,
      count = Infinity,
      sessionId,
    }: { readonly from?: number; readonly count?: number; readonly sessionId?: string | undefined },
    isWanted: (message: BrokerMessage) => boolean,
  ): BrokerMessage[] {
    const found: BrokerMessage[] = [];
    for (const message of this.index.from(from)) {
      if (found.length >= count) break;
      if (isWanted(message) && (sessionId === undefined || message.content.sessionId === sessionId))
        found.push(message);
    }
    return found;
  }

  /** Takes the message whose turn it is, of one session if the queue has sessions. */
  shift(sessionId: string | undefined): BrokerMessage | undefined {
    return sessionId === undefined ? this.#lane.shift() : this.sessions.get(sessionId)?.lane.shift();
  }

  /** Gives an unlocked active message its turn back, at the place of its number. */
  putBack(message: BrokerMessage): void {
    this.#laneOf(message).putBack(message);
    const session = this.#sessionOf(message);
    if (session !== undefined) this.sessions.noteLane(session);
  }

  /** Takes the next unlocked active message that has expired. */
  shiftExpired(nowMs: number): BrokerMessage | undefined {
    for (
      let first = this.#expiring.peek();
      first !== undefined && first.expiresAtMs <= nowMs;
      first = this.#expiring.peek()
    ) {
      this.#expiring.pop();
      // A locked message is checked when its lock ends, a deferred one when it is received.
      if (first.state === 'active' && first.lock === undefined) return first;
    }
    return undefined;
  }

  shiftActivated(nowMs: number): BrokerMessage | undefined {
    for (
      let first = this.#scheduled.peek();
      first !== undefined && activation(first) <= nowMs;
      first = this.#scheduled.peek()
    ) {
      this.#scheduled.pop();
      if (first.state === 'scheduled') return first;
    }
    return undefined;
  }

  nextDeadlineMs(): number {
    return Math.min(this.#expiring.peek()?.expiresAtMs ?? Infinity, activation(this.#scheduled.peek()));
  }

  /** Turns a queue without sessions into one with. Every message must have a session id. */
  startSessions(): void {
    this.#hasSessions = true;
    this.#lane.clear();
    for (const message of this.index.from(0)) {
      const session = this.sessions.ensure(message.content.sessionId ?? '');
      session.messages += 1;
      if (message.state === 'active' && message.lock === undefined) session.lane.append(message);
      this.sessions.noteLane(session);
    }
  }

  #laneOf(message: BrokerMessage): Lane {
    return this.#hasSessions ? this.sessions.ensure(message.content.sessionId ?? '').lane : this.#lane;
  }

  #sessionOf(message: BrokerMessage): Session | undefined {
    return this.#hasSessions ? this.sessions.ensure(message.content.sessionId ?? '') : undefined;
  }

  #charge(bytes: number): void {
    this.bytes += bytes;
    this.#budget.take(bytes);
  }

  /** Messages are settled long before they expire, so their entries are swept once they outnumber the living. */
  #dropStale(heap: Heap<BrokerMessage>): void {
    if (heap.size > this.index.size * 2 + 1024) heap.retain((message) => message.state !== 'removed');
  }
}

function category(message: BrokerMessage): keyof MessageCounts {
  if (message.lock !== undefined) return 'locked';
  return message.state === 'removed' ? 'active' : message.state;
}

function activation(message: BrokerMessage | undefined): number {
  return message?.activatesAtMs ?? Infinity;
}
