import type { FilterSubject, PropertyChanges } from '../filters/sql-values.js';

/** What a client sent. Immutable: a change of properties makes a new content, the body is shared. */
export interface MessageContent extends FilterSubject {
  readonly messageId: string;
  readonly sessionId: string | undefined;
  /** Lifetime the sender asked for; undefined = as long as the entity allows. */
  readonly timeToLiveMs: number | undefined;
  /** Time at which a sender wants the message to appear; undefined = at once. */
  readonly scheduledAtMs: number | undefined;
  /** Encoded size, for quotas. */
  readonly bytes: number;
  with(changes: PropertyChanges): MessageContent;
}

/**
 * - active: waits in its lane, or is locked by a receiver
 * - deferred: set aside; only a request with its sequence number receives it
 * - scheduled: appears at its time, then as a new message
 * - removed: completed, expired, moved or deleted; it may still be referenced by a lane or a deadline, which skip it
 */
export type MessageState = 'active' | 'deferred' | 'scheduled' | 'removed';

/** A message in one queue, subscription or dead-letter queue. */
export interface BrokerMessage {
  readonly sequenceNumber: number;
  readonly enqueuedSequenceNumber: number;
  readonly enqueuedAtMs: number;
  readonly expiresAtMs: number;
  /** Set while the message is scheduled. */
  readonly activatesAtMs: number | undefined;
  readonly deadLetterSource: string | undefined;
  content: MessageContent;
  state: MessageState;
  /** Deliveries that ended without a settlement that keeps or removes the message. */
  deliveryCount: number;
  lock: MessageLock | undefined;
}

/** Exclusive access of one receiver to one message. `session` is set on session entities, whose lock then decides. */
export interface MessageLock {
  readonly token: string;
  readonly message: BrokerMessage;
  readonly session: SessionLock | undefined;
  untilMs: number;
}

/** Exclusive access of one receiver to one session. A new object per grant, so that an old holder is recognised. */
export interface SessionLock {
  readonly sessionId: string;
  readonly messages: Set<MessageLock>;
  untilMs: number;
}

export interface DeadLetterReason {
  readonly reason: string;
  readonly description: string;
  readonly changes?: PropertyChanges;
}

/** The content of a queue as a journal has it. */
export interface RestoredMessages {
  /** By number. */
  readonly messages: readonly BrokerMessage[];
  readonly sessionStates: ReadonlyMap<string, Buffer>;
  readonly seen: ReadonlyMap<string, number>;
  readonly lastSequenceNumber: number;
}

/** A message that has just arrived. `moved` is the message it was in another queue: its count, time and number stay with it. */
export function newMessage(
  content: MessageContent,
  sequenceNumber: number,
  nowMs: number,
  { expiresAtMs = Infinity, activatesAtMs, moved }: NewMessageOptions,
): BrokerMessage {
  return {
    sequenceNumber,
    enqueuedSequenceNumber: moved?.from.enqueuedSequenceNumber ?? sequenceNumber,
    enqueuedAtMs: moved?.from.enqueuedAtMs ?? nowMs,
    expiresAtMs,
    activatesAtMs,
    deadLetterSource: moved?.source,
    content,
    state: activatesAtMs === undefined ? 'active' : 'scheduled',
    deliveryCount: moved?.from.deliveryCount ?? 0,
    lock: undefined,
  };
}

export interface MovedMessage {
  readonly from: BrokerMessage;
  readonly source: string;
}

interface NewMessageOptions {
  readonly expiresAtMs?: number;
  readonly activatesAtMs?: number;
  readonly moved?: MovedMessage | undefined;
}

/** Memory a message costs besides its encoded bytes. */
const messageOverheadBytes = 512;

export function messageCost(content: MessageContent): number {
  return content.bytes + messageOverheadBytes;
}
