import type { ServiceBusClient } from '@azure/service-bus';
import type { Clock } from '@drover/service-kit';
import type { ClosableClient } from '../parked-trigger.js';
import { rejectOnAbort } from '../requests.js';
import { fromTheFirst } from './bus-backlog.js';
import { closeBusClient, createBusClient, receiveOptions } from './bus-clients.js';
import { failureOfBus } from './failures.js';
import { withoutSecretsOf, type ServiceBusConnection } from './service-bus-connection.js';

/** Messages per request. */
const pageSize = 64;
/** Deferred and scheduled messages that are passed over. Behind more of them there may be work: it is not ruled out. */
const mostPassedOver = 2_048;
const tryTimeoutMs = 30_000;

/** Looks into entities of one namespace over one connection, without receiving anything: no message is locked or counted. */
export class BusPeeks implements ClosableClient {
  readonly #connection: ServiceBusConnection;
  readonly #clock: Clock;
  #client: Promise<ServiceBusClient> | undefined;

  constructor(connection: ServiceBusConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Whether an entity has an active message; one that is missing has none. */
  async hasActive(entityPath: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#look(entityPath, signal);
    } catch (error) {
      if (failureOfBus(error) === 'entity-missing') return false;
      signal.throwIfAborted();
      throw new Error(withoutSecretsOf(this.#connection, error), { cause: error });
    }
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    if (client) await closeBusClient(client, this.#clock);
  }

  async #look(entityPath: string, signal: AbortSignal): Promise<boolean> {
    this.#client ??= import('@azure/service-bus').then((sdk) =>
      createBusClient(sdk, { connection: this.#connection, tryTimeoutMs }),
    );
    const client = await this.#client;
    // For one look only: an open link costs more memory than all else about a parked trigger.
    const receiver = client.createReceiver(entityPath, receiveOptions);
    try {
      for (let passed = 0; passed < mostPassedOver; passed += pageSize) {
        const options = passed === 0 ? { fromSequenceNumber: fromTheFirst } : {};
        const page = await rejectOnAbort(() => receiver.peekMessages(pageSize, options), signal);
        if (page.some(({ state }) => state === 'active')) return true;
        if (page.length < pageSize) return false;
      }
      return true;
    } finally {
      void receiver.close().catch(() => undefined);
    }
  }
}
