import type { ServiceBusClient, ServiceBusMessage, ServiceBusMessageBatch, ServiceBusSender } from '@azure/service-bus';
import { hasCode } from '@drover/contracts';
import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { serviceBusMessageUnsendable, serviceBusUnavailable } from '../errors.js';
import { rejectOnAbort, withDeadline } from '../requests.js';
import type { SourceWakeups } from '../source-wakeups.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import { closeBusClient, createBusClient } from './bus-clients.js';
import { toBusMessage } from './bus-output-message.js';
import { failureOfBus } from './failures.js';
import type { ServiceBusObservation } from './observations.js';
import { busAddress } from './parked-bus-entity.js';
import { withoutSecretsOf, type ServiceBusConnection } from './service-bus-connection.js';

const requestTimeoutMs = 30_000;
const retries = { firstMs: 100, maxMs: 5_000, factor: 2 };
const maxAttempts = 5;
/** Time limit of one `send`, all messages together. */
const sendTimeoutMs = 600_000;

/** The senders of one connection: one AMQP connection, one link per queue or topic. It connects at the first send. */
export class BusSenders {
  readonly #connection: ServiceBusConnection;
  readonly #clock: Clock;
  readonly #senders = new Map<string, ServiceBusSender>();
  #client: Promise<ServiceBusClient> | undefined;

  constructor(connection: ServiceBusConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  get connection(): ServiceBusConnection {
    return this.#connection;
  }

  async sender(entityName: string): Promise<ServiceBusSender> {
    this.#client ??= import('@azure/service-bus').then((sdk) =>
      createBusClient(sdk, { connection: this.#connection, tryTimeoutMs: requestTimeoutMs }),
    );
    const client = await this.#client;
    const known = this.#senders.get(entityName);
    if (known) return known;
    const created = client.createSender(entityName);
    this.#senders.set(entityName, created);
    return created;
  }

  async close(): Promise<void> {
    const client = await this.#client;
    if (client) await closeBusClient(client, this.#clock);
  }
}

interface ServiceBusOutputTargetOptions {
  readonly functionName: string;
  readonly entityName: string;
  readonly senders: BusSenders;
  /** Shared with the listeners of this process. */
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
}

/**
 * Sends to one queue or topic, several messages in batches. If `send` fails, some batches may have been stored: delivery is at
 * least once. A retry has the same message ids, so that duplicate detection can drop it.
 */
export class ServiceBusOutput implements OutputTarget {
  readonly #options: ServiceBusOutputTargetOptions;

  constructor(options: ServiceBusOutputTargetOptions) {
    this.#options = options;
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, entityName, senders, wakeups, randomness, clock, observe } = this.#options;
    // All are converted before the first is sent, so that an invalid one fails the whole call.
    const converted = messages.map((message) => toBusMessage(message, entityName, () => randomness.uuid()));
    if (converted.length === 0) return;
    try {
      await withDeadline(clock, sendTimeoutMs, signal, (limited) => this.#sendAll(converted, limited));
    } finally {
      wakeups.wake(busAddress(senders.connection, entityName)); // also after a failure: some may have been stored
    }
    observe({ kind: 'service-bus.sent', functionName, entity: entityName, messages: messages.length });
  }

  async #sendAll(messages: readonly ServiceBusMessage[], signal: AbortSignal): Promise<void> {
    const [only] = messages;
    if (messages.length === 1 && only) return this.#attempt(signal, (sender) => sender.sendMessages(only));
    const batches: ServiceBusMessageBatch[] = [];
    await this.#attempt(signal, async (sender) => {
      batches.length = 0;
      batches.push(...(await this.#toBatches(sender, messages)));
    });
    for (const batch of batches) await this.#attempt(signal, (sender) => sender.sendMessages(batch));
  }

  async #toBatches(
    sender: ServiceBusSender,
    messages: readonly ServiceBusMessage[],
  ): Promise<readonly ServiceBusMessageBatch[]> {
    const first = await sender.createMessageBatch();
    const batches = [first];
    let current = first;
    for (const message of messages) {
      if (current.tryAddMessage(message)) continue;
      current = await sender.createMessageBatch();
      batches.push(current);
      if (!current.tryAddMessage(message)) throw this.#tooLarge(current.maxSizeInBytes);
    }
    return batches;
  }

  /** Retries while the service is unavailable. Throws SERVICE_BUS_UNAVAILABLE or SERVICE_BUS_MESSAGE_UNSENDABLE. */
  async #attempt(signal: AbortSignal, act: (sender: ServiceBusSender) => Promise<void>): Promise<void> {
    const { senders, entityName, clock, randomness } = this.#options;
    const backOff = new BackOff(retries, { clock, randomness });
    for (;;) {
      try {
        const sender = await senders.sender(entityName);
        return await rejectOnAbort(() => act(sender), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (hasCode(error, 'SERVICE_BUS_MESSAGE_UNSENDABLE')) throw error;
        const failure = failureOfBus(error);
        if (failure === 'refused') throw this.#refused(error);
        const mayHelp = failure === 'unavailable' || failure === 'throttled';
        if (!mayHelp || backOff.failures + 1 >= maxAttempts) throw this.#failed(error);
        await sleep(clock, backOff.nextMs(), signal);
      }
    }
  }

  #tooLarge(limit: number): Error {
    const { entityName: entity } = this.#options;
    const problem = `is larger than the limit of ${limit} bytes. Store large content elsewhere and send its address`;
    return serviceBusMessageUnsendable({ entity, problem });
  }

  #refused(error: unknown): Error {
    const { entityName: entity, senders } = this.#options;
    const problem = `was refused: ${withoutSecretsOf(senders.connection, error)}`;
    return serviceBusMessageUnsendable({ entity, problem }, error);
  }

  #failed(error: unknown): Error {
    const { entityName: entity, senders } = this.#options;
    const reason = withoutSecretsOf(senders.connection, error);
    return serviceBusUnavailable({ entity, operation: 'send', reason }, error);
  }
}
