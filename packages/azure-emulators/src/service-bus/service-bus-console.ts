import type { EntityConsole, EntityStatus, ShownMessage, TypedMessage } from '../entity-console.js';
import { BrokerError } from './broker/broker-error.js';
import type { Broker } from './broker/broker.js';
import type { Entity } from './broker/entity.js';
import type { BrokerMessage } from './broker/message.js';
import { bodyText, encodeTyped, shownProperties } from './message-text.js';
import { contentOf } from './wire/delivery-encoding.js';

/** Status of one entity. `depth` counts messages that wait for a receiver. */
export interface ServiceBusEntityStatus extends EntityStatus {
  readonly deferred: number;
  /** Messages that could not be forwarded. */
  readonly transferDeadLetters: number;
  readonly bytes: number;
  /** Age of the oldest message that waits or is locked; undefined if there is none. */
  readonly oldestAgeMs: number | undefined;
}

export interface ServiceBusConsoleParts {
  readonly broker: Broker;
  readonly now: () => number;
  readonly ensureWritable: () => void;
  readonly durable: () => Promise<void> | undefined;
}

/** What the page and the live lines of the emulator show and do. */
export class ServiceBusConsole implements EntityConsole {
  readonly #parts: ServiceBusConsoleParts;

  constructor(parts: ServiceBusConsoleParts) {
    this.#parts = parts;
  }

  entities(): ServiceBusEntityStatus[] {
    const nowMs = this.#parts.now();
    return [...this.#parts.broker.entities.all()].map((entity) => entityStatus(entity, nowMs));
  }

  async peek(
    entity: string,
    { deadLetters, after, max }: { readonly deadLetters: boolean; readonly after?: string; readonly max: number },
  ): Promise<ShownMessage[]> {
    const found = this.#entity(entity);
    const queue = deadLetters ? found.deadLetters : found.main;
    const messages = queue.peek(after === undefined ? 0 : Number(after) + 1, max, this.#parts.now());
    return messages.map((message) => shownMessage(message, deadLetters));
  }

  async send(entity: string, message: TypedMessage): Promise<void> {
    const { broker, now } = this.#parts;
    await this.#change(() => broker.send(this.#entity(entity), [encodeTyped(message)], now()));
  }

  async requeue(entity: string): Promise<number> {
    const { broker, now } = this.#parts;
    return await this.#change(() => broker.requeueDeadLetters(this.#entity(entity), undefined, now()));
  }

  async purge(entity: string, { deadLetters }: { readonly deadLetters: boolean }): Promise<number> {
    return await this.#change(() => {
      const found = this.#entity(entity);
      return (deadLetters ? found.deadLetters : found.main).purge('unlocked');
    });
  }

  async #change<T>(change: () => T): Promise<T> {
    this.#parts.ensureWritable();
    const result = change();
    await this.#parts.durable();
    return result;
  }

  #entity(path: string): Entity {
    const entity = this.#parts.broker.entities.get(path);
    if (entity === undefined)
      throw new BrokerError('entity-not-found', `The messaging entity '${path}' could not be found.`);
    return entity;
  }
}

function entityStatus(entity: Entity, nowMs: number): ServiceBusEntityStatus {
  const { counts, bytes } = entity.main.store;
  return {
    service: 'service-bus',
    kind: entity.description.kind,
    name: entity.path,
    depth: counts.active,
    inFlight: counts.locked,
    scheduled: counts.scheduled,
    deferred: counts.deferred,
    deadLetters: entity.deadLetters.store.index.size,
    transferDeadLetters: entity.transfer.store.index.size,
    bytes,
    oldestAgeMs: oldestAge(entity, nowMs),
  };
}

function oldestAge(entity: Entity, nowMs: number): number | undefined {
  for (const message of entity.main.store.index.from(0)) {
    if (message.state === 'active') return Math.max(0, nowMs - message.enqueuedAtMs);
  }
  return undefined;
}

function shownMessage(message: BrokerMessage, isDeadLetter: boolean): ShownMessage {
  const content = contentOf(message);
  const { text, isCut } = bodyText(content);
  const state = message.state === 'removed' ? 'active' : message.state;
  return {
    id: String(message.sequenceNumber),
    state: message.lock !== undefined ? 'locked' : isDeadLetter ? 'dead letter' : state,
    enqueuedMs: message.enqueuedAtMs,
    deliveryCount: message.deliveryCount,
    body: text,
    isCut,
    properties: shownProperties(content),
  };
}
