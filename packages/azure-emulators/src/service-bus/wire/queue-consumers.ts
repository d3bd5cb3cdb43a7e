import {
  amqpConditions,
  type AmqpError,
  type ConsumerLink,
  type OutgoingDelivery,
  type DeliveryOutcome,
} from '../../amqp/amqp-service.js';
import { amqpValue } from '../../amqp/values.js';
import { sessionLockLost } from '../broker/broker-error.js';
import type { MessageLock, SessionLock } from '../broker/message.js';
import type { MessageQueue } from '../broker/message-queue.js';
import { wireError } from './broker-conditions.js';
import { deliveryTag, encodeDelivery } from './delivery-encoding.js';

export const sessionFilter = 'com.microsoft:session-filter';

interface QueueConsumer {
  readonly link: ConsumerLink;
  readonly session: SessionLock | undefined;
  /** Locked for this receiver, and sent as soon as that is durable. */
  readonly outgoing: Set<MessageLock>;
}

/** A receiver of the next free session whose attach is held back. */
interface WaitingReceiver {
  readonly link: ConsumerLink;
  readonly timer: NodeJS.Timeout;
}

export interface QueueConsumersParts {
  readonly now: () => number;
  readonly durable: () => Promise<void> | undefined;
  /** Applies a client's outcome to the lock and answers it. */
  readonly onOutcome: (
    queue: MessageQueue,
    lock: MessageLock,
    delivery: OutgoingDelivery,
    outcome: DeliveryOutcome,
  ) => void;
}

/**
 * The receivers of one queue. Messages go to the receivers that have credit, in turn; a session's messages to the one that has its lock.
 * A receiver that asks for the next session waits here until one is free or its time is up.
 */
export class QueueConsumers {
  readonly #queue: MessageQueue;
  readonly #parts: QueueConsumersParts;
  readonly #consumers: QueueConsumer[] = [];
  readonly #waiting = new Set<WaitingReceiver>();
  #turn = 0;

  constructor(queue: MessageQueue, parts: QueueConsumersParts) {
    this.#queue = queue;
    this.#parts = parts;
  }

  /** Receivers have a link, or wait for one. */
  get isAttached(): boolean {
    return this.#consumers.length + this.#waiting.size > 0;
  }

  /** The connection that holds a session, to check requests that act on it. */
  holderOf(session: SessionLock): number | undefined {
    return this.#consumers.find((consumer) => consumer.session === session)?.link.connection.id;
  }

  add(link: ConsumerLink): void {
    this.#accept({ link, session: undefined, outgoing: new Set() });
  }

  /** Grants a session now, or for the next free one later. Refuses the link when its session is taken or time is up. */
  addSession(link: ConsumerLink, sessionId: string | undefined, timeoutMs: number): void {
    const session = this.#queue.lockSession(sessionId, this.#parts.now());
    if (session !== undefined) {
      this.#acceptSession(link, session);
      return;
    }
    const waiting: WaitingReceiver = { link, timer: setTimeout(() => this.#giveUp(waiting), timeoutMs) };
    this.#waiting.add(waiting);
    link.onAbandoned = () => this.#stopWaiting(waiting);
  }

  /** Hands out what is there. Call when messages, sessions or credit may have become available. */
  dispatch(): void {
    if (this.#queue.hasSessions) {
      this.#closeLostSessions();
      this.#grantSessions();
      for (const consumer of this.#consumers.slice()) this.#fill(consumer);
      return;
    }
    this.#queue.advance(this.#parts.now());
    let idle = 0;
    while (idle < this.#consumers.length) {
      this.#turn = (this.#turn + 1) % this.#consumers.length;
      const consumer = this.#consumers[this.#turn];
      if (consumer === undefined || capacityOf(consumer) <= 0) {
        idle += 1;
        continue;
      }
      if (!this.#deliverNext(consumer)) return;
      idle = 0;
    }
  }

  /** Detaches every receiver, for example because the entity was deleted. */
  closeAll(error: AmqpError): void {
    for (const waiting of this.#waiting) {
      this.#stopWaiting(waiting);
      waiting.link.refuse(error);
    }
    for (const { link } of this.#consumers.slice()) link.close(error);
  }

  #accept(consumer: QueueConsumer): void {
    const { link, session } = consumer;
    const handlers = {
      onCredit: () => (session === undefined ? this.dispatch() : this.#fill(consumer)),
      onClose: () => this.#remove(consumer),
    };
    this.#consumers.push(consumer);
    if (session === undefined) {
      link.accept(handlers);
      return;
    }
    link.accept(handlers, {
      filters: { [sessionFilter]: session.sessionId },
      properties: { 'com.microsoft:locked-until-utc': amqpValue.dotnetTicks(session.untilMs) },
    });
  }

  #acceptSession(link: ConsumerLink, session: SessionLock): void {
    if (link.isOpen) this.#accept({ link, session, outgoing: new Set() });
    else this.#queue.releaseSession(session, this.#parts.now());
  }

  #remove(consumer: QueueConsumer): void {
    const at = this.#consumers.indexOf(consumer);
    if (at >= 0) this.#consumers.splice(at, 1);
    for (const lock of consumer.outgoing) this.#queue.giveBack(lock, this.#parts.now());
    if (consumer.session !== undefined) this.#queue.releaseSession(consumer.session, this.#parts.now());
  }

  #fill(consumer: QueueConsumer): void {
    while (capacityOf(consumer) > 0 && this.#deliverNext(consumer));
  }

  /**
   * Hands out one message. It is sent when its arrival and its lock are on disk: a receiver never has a message that a crash takes back,
   * and a restart never delivers one again without counting.
   */
  #deliverNext(consumer: QueueConsumer): boolean {
    const { link, session } = consumer;
    const now = this.#parts.now();
    if (link.presettled) {
      const message = this.#queue.removeNext(now, session);
      if (message !== undefined) link.deliver({ payload: encodeDelivery(message), settled: true });
      return message !== undefined;
    }
    const lock = this.#queue.lockNext(now, session);
    if (lock === undefined) return false;
    const durable = this.#parts.durable();
    if (durable === undefined) this.#send(link, lock);
    else void this.#sendWhenDurable(consumer, lock, durable);
    return true;
  }

  async #sendWhenDurable(consumer: QueueConsumer, lock: MessageLock, durable: Promise<void>): Promise<void> {
    consumer.outgoing.add(lock);
    try {
      await durable;
    } catch {
      // The disk refuses. The message is in memory and is delivered; its senders and settlements are told.
    }
    consumer.outgoing.delete(lock);
    if (consumer.link.isOpen && consumer.link.capacity > 0) this.#send(consumer.link, lock);
    else this.#queue.giveBack(lock, this.#parts.now());
  }

  #send(link: ConsumerLink, lock: MessageLock): void {
    if (lock.message.lock !== lock) return; // expired, deleted or purged meanwhile
    link.deliver({
      payload: encodeDelivery(lock.message),
      tag: deliveryTag(lock.token),
      onOutcome: (delivery, outcome) => this.#parts.onOutcome(this.#queue, lock, delivery, outcome),
    });
  }

  #grantSessions(): void {
    for (const waiting of this.#waiting) {
      const session = this.#queue.lockSession(undefined, this.#parts.now());
      if (session === undefined) return;
      this.#stopWaiting(waiting);
      this.#acceptSession(waiting.link, session);
    }
  }

  #closeLostSessions(): void {
    for (const { link, session } of this.#consumers.slice()) {
      if (session === undefined || this.#queue.isSessionHeld(session, this.#parts.now())) continue;
      link.close(wireError(sessionLockLost(session.sessionId)));
    }
  }

  #stopWaiting(waiting: WaitingReceiver): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }

  #giveUp(waiting: WaitingReceiver): void {
    this.#stopWaiting(waiting);
    const description = 'No session with messages became free in time. Ask again, or wait longer.';
    waiting.link.refuse({ condition: amqpConditions.timeout, description });
  }
}

function capacityOf({ link, outgoing }: QueueConsumer): number {
  return link.capacity - outgoing.size;
}
