import type { WorkQuestion, WorkSource } from '../notifications/work-notes.js';
import { parseAddress } from './broker/address.js';
import type { Broker } from './broker/broker.js';
import { BrokerError } from './broker/broker-error.js';
import type { MessageQueue } from './broker/message-queue.js';

/** Answers whether a queue or subscription has a message or a session that a receiver could get. */
export class ServiceBusWork implements WorkSource {
  readonly service = 'service-bus';
  readonly #broker: Broker;
  readonly #now: () => number;

  constructor(broker: Broker, now: () => number) {
    this.#broker = broker;
    this.#now = now;
  }

  /** Makes the entity as a receiver would: what is sent to a topic before its subscription exists would be lost. */
  question({ entity, hasSessions }: Readonly<Record<string, unknown>>): WorkQuestion | undefined {
    if (typeof entity !== 'string') return undefined;
    const use = hasSessions === true ? 'receive-session' : 'receive';
    try {
      const { queue } = this.#broker.resolveQueue(entity, use, this.#now());
      return { entity: queue.path, look: () => this.#hasWork(queue.path) };
    } catch (error) {
      if (error instanceof BrokerError) return undefined;
      throw error;
    }
  }

  #hasWork(path: string): boolean {
    const queue = this.#find(path);
    if (!queue) return false;
    queue.advance(this.#now());
    return queue.store.hasWaiting;
  }

  /** It may have been deleted, and made again. */
  #find(path: string): MessageQueue | undefined {
    const address = parseAddress(path);
    return address && this.#broker.entities.get(address.path)?.queue(address.subQueue);
  }
}
