import {
  amqpConditions,
  type AmqpService,
  type ConsumerLink,
  type IncomingDelivery,
  type ManagementReply,
  type ManagementRequest,
  type DeliveryOutcome,
  type OutgoingDelivery,
  type ProducerLink,
} from '../../amqp/amqp-service.js';
import { batchFormat, splitBatch } from '../../amqp/message-sections.js';
import { integerOf } from '../../amqp/values.js';
import { parseAddress } from '../broker/address.js';
import type { Broker } from '../broker/broker.js';
import { BrokerError } from '../broker/broker-error.js';
import type { Entity } from '../broker/entity.js';
import type { MessageLock } from '../broker/message.js';
import type { MessageQueue } from '../broker/message-queue.js';
import { wireError } from './broker-conditions.js';
import { decodeContent } from './encoded-content.js';
import { manage } from './management.js';
import { QueueConsumers, sessionFilter } from './queue-consumers.js';
import { answerTo, applyOutcome } from './settlement.js';

export interface ServiceBusLinksParts {
  readonly broker: Broker;
  readonly now: () => number;
  /** Throws while changes cannot be made durable. */
  readonly ensureWritable: () => void;
  /** Resolves when all changes so far are durable; undefined if there is nothing to wait for. */
  readonly durable: () => Promise<void> | undefined;
  readonly createOnFirstUse: boolean;
}

const defaultSessionWaitMs = 60_000;
/** Addresses below these belong to Event Hubs. */
const eventHubAddress = /\/(?:ConsumerGroups|Partitions|Publishers)\//i;

/** Connects AMQP links and `$management` requests to the broker. A change is answered when it is durable, in the order of the changes. */
export class ServiceBusLinks implements AmqpService {
  readonly name = 'service-bus';
  readonly #parts: ServiceBusLinksParts;
  readonly #consumers = new Map<MessageQueue, QueueConsumers>();
  readonly #producers = new Map<ProducerLink, string>();

  constructor(parts: ServiceBusLinksParts) {
    this.#parts = parts;
  }

  claims(address: string): boolean {
    const parsed = parseAddress(address);
    if (parsed === undefined || eventHubAddress.test(address)) return false;
    return this.#parts.createOnFirstUse || this.#parts.broker.entities.get(parsed.path) !== undefined;
  }

  onProducer(link: ProducerLink): void {
    try {
      const { entity, address } = this.#parts.broker.resolve(link.address, 'send', this.#parts.now());
      if (address.subQueue !== 'main' || entity.description.kind === 'subscription') {
        throw new BrokerError(
          'not-allowed',
          `Messages cannot be sent to '${link.address}'. Send to a queue or a topic.`,
        );
      }
      entity.checkEnabled('send');
      this.#producers.set(link, entity.path);
      const { maxMessageSizeInKilobytes } = entity.settings;
      link.accept(
        {
          onMessage: (delivery) => this.#receive(link, delivery),
          onClose: () => this.#producers.delete(link),
        },
        maxMessageSizeInKilobytes === undefined ? {} : { maxMessageBytes: maxMessageSizeInKilobytes * 1024 },
      );
    } catch (error) {
      link.refuse(wireError(error));
    }
  }

  onConsumer(link: ConsumerLink): void {
    const wantsSession = link.filters.has(sessionFilter);
    try {
      const use = wantsSession ? 'receive-session' : 'receive';
      const { queue } = this.#parts.broker.resolveQueue(link.address, use, this.#parts.now());
      checkReceiverKind(queue, wantsSession);
      const consumers = this.#consumersOf(queue);
      if (!wantsSession) {
        consumers.add(link);
        return;
      }
      const sessionId = link.filters.get(sessionFilter);
      const timeoutMs = integerOf(link.properties['com.microsoft:timeout']) ?? defaultSessionWaitMs;
      consumers.addSession(link, typeof sessionId === 'string' ? sessionId : undefined, timeoutMs);
    } catch (error) {
      link.refuse(wireError(error));
    }
  }

  async onRequest(request: ManagementRequest): Promise<ManagementReply> {
    const { broker, now, ensureWritable, durable } = this.#parts;
    try {
      ensureWritable();
      const reply = manage(
        request,
        { broker, holderOf: (queue, session) => this.#consumers.get(queue)?.holderOf(session) },
        now(),
      );
      await durable();
      return reply;
    } catch (error) {
      return wireError(error);
    }
  }

  /** Hands out what a queue has. */
  dispatch(queue: MessageQueue): void {
    this.#consumers.get(queue)?.dispatch();
  }

  /** Tells whether a client has a link to the entity. */
  isAttached(entity: Entity): boolean {
    if (entity.queues().some((queue) => this.#consumers.get(queue)?.isAttached === true)) return true;
    for (const path of this.#producers.values()) if (path === entity.path) return true;
    return false;
  }

  /** Detaches all links of deleted entities; their clients are told that the entity is gone. */
  closeEntities(entities: readonly Entity[]): void {
    for (const entity of entities) {
      const error = {
        condition: amqpConditions.notFound,
        description: `The messaging entity '${entity.path}' could not be found. It was deleted.`,
      };
      for (const queue of entity.queues()) {
        this.#consumers.get(queue)?.closeAll(error);
        this.#consumers.delete(queue);
      }
      for (const [link, path] of this.#producers) if (path === entity.path) link.close(error);
    }
  }

  #receive(link: ProducerLink, delivery: IncomingDelivery): void {
    try {
      this.#parts.ensureWritable();
      const encoded = delivery.format === batchFormat ? splitBatch(delivery.payload) : [delivery.payload];
      const { broker, now } = this.#parts;
      const { entity } = broker.resolve(link.address, 'send', now());
      broker.send(entity, encoded.map(decodeContent), now());
      this.#whenDurable(
        () => delivery.accept(),
        (error) => delivery.reject(wireError(error)),
      );
    } catch (error) {
      delivery.reject(wireError(error));
    }
  }

  #settle(queue: MessageQueue, lock: MessageLock, delivery: OutgoingDelivery, outcome: DeliveryOutcome): void {
    const refuse = (error: unknown): void => delivery.settle({ kind: 'rejected', error: wireError(error) });
    try {
      this.#parts.ensureWritable();
      applyOutcome(queue, lock, outcome, this.#parts.now());
      this.#whenDurable(() => delivery.settle(answerTo(outcome)), refuse);
    } catch (error) {
      refuse(error);
    }
  }

  #whenDurable(done: () => void, failed: (error: unknown) => void): void {
    const durable = this.#parts.durable();
    if (durable === undefined) done();
    else void answerWhenDurable(durable, done, failed);
  }

  #consumersOf(queue: MessageQueue): QueueConsumers {
    let consumers = this.#consumers.get(queue);
    if (consumers === undefined) {
      const onOutcome = this.#settle.bind(this);
      consumers = new QueueConsumers(queue, { now: this.#parts.now, durable: this.#parts.durable, onOutcome });
      this.#consumers.set(queue, consumers);
    }
    return consumers;
  }
}

async function answerWhenDurable(
  durable: Promise<void>,
  done: () => void,
  failed: (error: unknown) => void,
): Promise<void> {
  try {
    await durable;
  } catch (error) {
    failed(error);
    return;
  }
  done();
}

function checkReceiverKind(queue: MessageQueue, wantsSession: boolean): void {
  if (queue.hasSessions === wantsSession) return;
  const hint = queue.hasSessions
    ? `'${queue.path}' requires sessions. Accept a session instead of creating a plain receiver.`
    : `'${queue.path}' does not have sessions. Create a plain receiver, or the entity with sessions.`;
  throw new BrokerError('not-allowed', hint);
}
