import type { Broker } from '../broker/broker.js';
import { entityKey } from '../broker/address.js';
import type { EntityDescription } from '../broker/entity-options.js';
import type { BrokerMessage } from '../broker/message.js';
import type { ReplayLog } from './record-codec.js';

/** What is known of one queue while its records are read. */
interface RestoredQueue {
  readonly messages: Map<number, BrokerMessage>;
  /** Locked when the process ended. */
  readonly delivered: Set<number>;
  readonly sessionStates: Map<string, Buffer>;
  readonly seen: Map<string, number>;
  lastSequenceNumber: number;
}

/**
 * Rebuilds a broker from its records. Locks do not survive: a message that was locked waits again and its delivery counts, so a message
 * that kills the process every time reaches the dead-letter queue in the end.
 */
export class BrokerRestore implements ReplayLog {
  readonly #entities = new Map<string, EntityDescription>();
  readonly #queues = new Map<string, RestoredQueue>();

  entity(description: EntityDescription): void {
    this.#entities.set(entityKey(description.path), description);
  }

  entityDeleted(path: string): void {
    this.#entities.delete(entityKey(path));
    for (const queue of this.#queues.keys()) {
      if (queue === path || queue.startsWith(`${path}/$`)) this.#queues.delete(queue);
    }
  }

  message(queue: string, message: BrokerMessage): void {
    const restored = this.#queue(queue);
    restored.lastSequenceNumber = Math.max(restored.lastSequenceNumber, message.sequenceNumber);
    restored.delivered.delete(message.sequenceNumber);
    restored.messages.set(message.sequenceNumber, message);
  }

  removed(queue: string, sequenceNumber: number): void {
    const restored = this.#queue(queue);
    restored.messages.delete(sequenceNumber);
    restored.delivered.delete(sequenceNumber);
  }

  delivered(queue: string, sequenceNumber: number): void {
    this.#queue(queue).delivered.add(sequenceNumber);
  }

  returned(queue: string, sequenceNumber: number, deliveryCount: number): void {
    const restored = this.#queue(queue);
    restored.delivered.delete(sequenceNumber);
    const message = restored.messages.get(sequenceNumber);
    if (message !== undefined) message.deliveryCount = deliveryCount;
  }

  sessionState(queue: string, sessionId: string, state: Buffer | undefined): void {
    const { sessionStates } = this.#queue(queue);
    if (state === undefined) sessionStates.delete(sessionId);
    else sessionStates.set(sessionId, state);
  }

  seen(entity: string, messageId: string, atMs: number): void {
    const { seen } = this.#queue(entity);
    seen.delete(messageId);
    seen.set(messageId, atMs);
  }

  sequence(queue: string, lastSequenceNumber: number): void {
    const restored = this.#queue(queue);
    restored.lastSequenceNumber = Math.max(restored.lastSequenceNumber, lastSequenceNumber);
  }

  /** Puts everything into an empty broker. Topics come before their subscriptions. */
  finish(broker: Broker, nowMs: number): void {
    const descriptions = [...this.#entities.values()];
    const topicsFirst = descriptions.toSorted(
      (left, right) => Number(left.kind === 'subscription') - Number(right.kind === 'subscription'),
    );
    for (const description of topicsFirst) {
      const entity = broker.entities.restore(description);
      entity.accessedAtMs = nowMs; // uses are not recorded: what was alive at the stop is idle from now on
      for (const queue of entity.queues()) {
        const restored = this.#queues.get(queue.path);
        if (restored === undefined) continue;
        // A changed message is recorded again at the end, so the order of records is not the order of numbers.
        const messages = [...restored.messages.values()].toSorted(
          (left, right) => left.sequenceNumber - right.sequenceNumber,
        );
        queue.restore({ ...restored, messages });
      }
    }
    // Only now, because a message that has reached its maximum moves to another queue, which must be complete.
    for (const entity of broker.entities.all()) {
      for (const queue of entity.queues()) {
        for (const sequenceNumber of this.#queues.get(queue.path)?.delivered ?? [])
          queue.countLostDelivery(sequenceNumber, nowMs);
      }
    }
  }

  #queue(path: string): RestoredQueue {
    let restored = this.#queues.get(path);
    if (restored === undefined) {
      restored = {
        messages: new Map(),
        delivered: new Set(),
        sessionStates: new Map(),
        seen: new Map(),
        lastSequenceNumber: 0,
      };
      this.#queues.set(path, restored);
    }
    return restored;
  }
}
