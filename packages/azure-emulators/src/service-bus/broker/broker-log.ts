import type { EntityDescription } from './entity-options.js';
import type { BrokerMessage } from './message.js';

/**
 * Hears of every change that must survive a restart, in the same synchronous step as the change itself.
 * Queues are named by their path, dead-letter queues included.
 */
export interface BrokerLog {
  /** An entity was created or changed. */
  entity(description: EntityDescription): void;
  entityDeleted(path: string): void;
  /** A message arrived, or its properties or state changed. */
  message(queue: string, message: BrokerMessage): void;
  removed(queue: string, sequenceNumber: number): void;
  /** A message was locked. A restart ends the lock and counts the delivery. */
  delivered(queue: string, sequenceNumber: number): void;
  /** A lock ended and the message waits again, its properties as they were. */
  returned(queue: string, sequenceNumber: number, deliveryCount: number): void;
  sessionState(queue: string, sessionId: string, state: Buffer | undefined): void;
  /** Duplicate detection saw the id. */
  seen(entity: string, messageId: string, atMs: number): void;
}
