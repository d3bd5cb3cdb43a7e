import { randomUUID } from 'node:crypto';
import type { ServiceBusClient, ServiceBusMessage, ServiceBusReceivedMessage } from '@azure/service-bus';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { LockedMessages } from '../locked-messages.js';
import { SourceWakeups } from '../source-wakeups.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import type { ServiceBusObservation } from './observations.js';
import { serviceBusConnection, type ServiceBusConnection } from './service-bus-connection.js';
import { ServiceBusListener } from './service-bus-listener.js';
import { readServiceBusHostOptions, serviceBusOptions, type ServiceBusTriggerOptions } from './service-bus-options.js';
import { BusSenders, ServiceBusOutput } from './service-bus-output.js';

const never = new AbortController().signal;

/** A queue of its own at a real emulator, with what a process has around it, and a bare client beside it. */
export class BusBench {
  readonly functionName = 'process-order';
  readonly lockedMessages = new LockedMessages();
  readonly observed: ServiceBusObservation[] = [];
  readonly options: ServiceBusTriggerOptions;
  readonly connection: ServiceBusConnection;
  readonly started: ServiceBusListener[] = [];
  readonly #senders: BusSenders;
  #client: ServiceBusClient | undefined;

  constructor(connectionString: string, binding: Readonly<Record<string, unknown>> = {}) {
    const { functionName } = this;
    this.connection = serviceBusConnection({ functionName, connection: 'Bus', settings: { Bus: connectionString } });
    this.#senders = new BusSenders(this.connection, systemClock);
    this.options = serviceBusOptions({
      functionName,
      host: readServiceBusHostOptions({}).values,
      binding: 'topicName' in binding ? binding : { queueName: `orders-${randomUUID().slice(0, 8)}`, ...binding },
      cores: 1,
    });
  }

  get path(): string {
    return this.options.entity.path;
  }

  listener(deliver: Deliver, connection = this.connection): ServiceBusListener {
    const { functionName, lockedMessages, options } = this;
    const observe = (observation: ServiceBusObservation): void => void this.observed.push(observation);
    const io = { wakeups: new SourceWakeups(), clock: systemClock, randomness: systemRandomness, observe };
    return new ServiceBusListener({
      application: 'shop',
      functionName,
      connection,
      options,
      deliver,
      lockedMessages,
      ...io,
    });
  }

  async listen(deliver: Deliver): Promise<ServiceBusListener> {
    const listener = this.listener(deliver);
    this.started.push(listener);
    await listener.start(never);
    return listener;
  }

  /** Sends with the output binding. */
  send(...bodies: readonly (string | Uint8Array)[]): Promise<void> {
    return this.output().send(
      bodies.map((body) => ({ body })),
      never,
    );
  }

  output(entityName = this.options.entity.name): ServiceBusOutput {
    const { functionName } = this;
    const observe = (observation: ServiceBusObservation): void => void this.observed.push(observation);
    const io = { wakeups: new SourceWakeups(), clock: systemClock, randomness: systemRandomness, observe };
    return new ServiceBusOutput({ functionName, entityName, senders: this.#senders, ...io });
  }

  async client(): Promise<ServiceBusClient> {
    if (this.#client) return this.#client;
    const { ServiceBusClient: Client } = await import('@azure/service-bus');
    this.#client ??= new Client(this.connection.connectionString.reveal(), {
      retryOptions: { maxRetries: 2, retryDelayInMs: 50 },
    });
    return this.#client;
  }

  /** Sends with the bare SDK. */
  async sendBare(...messages: readonly ServiceBusMessage[]): Promise<void> {
    const sender = (await this.client()).createSender(this.options.entity.name);
    await sender.sendMessages([...messages]);
    await sender.close();
  }

  /** All messages of the entity, locked and deferred ones included, or its dead letters. */
  async peek(path = this.path): Promise<ServiceBusReceivedMessage[]> {
    const receiver = (await this.client()).createReceiver(path, { skipParsingBodyAsJson: true });
    const all: ServiceBusReceivedMessage[] = [];
    for (;;) {
      const first = all.at(-1)?.sequenceNumber?.add(1);
      const zero = { __isLong__: true, toBytesBE: () => [0, 0, 0, 0, 0, 0, 0, 0] } as unknown as typeof first;
      const fromSequenceNumber = first ?? zero;
      const page = await receiver.peekMessages(256, fromSequenceNumber ? { fromSequenceNumber } : {});
      if (page.length === 0) break;
      all.push(...page);
    }
    await receiver.close();
    return all;
  }

  async remaining(): Promise<number> {
    return (await this.peek()).length;
  }

  deadLetters(): Promise<ServiceBusReceivedMessage[]> {
    return this.peek(`${this.path}/$DeadLetterQueue`);
  }

  kinds<Kind extends ServiceBusObservation['kind']>(
    ...kinds: readonly Kind[]
  ): Extract<ServiceBusObservation, { readonly kind: Kind }>[] {
    return this.observed.filter((observation): observation is Extract<ServiceBusObservation, { readonly kind: Kind }> =>
      (kinds as readonly string[]).includes(observation.kind),
    );
  }

  /** Messages in all observations of a kind. */
  count(kind: ServiceBusObservation['kind']): number {
    return this.observed.reduce(
      (sum, observation) =>
        observation.kind === kind ? sum + ('messages' in observation ? observation.messages : 1) : sum,
      0,
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.started.splice(0).map((listener) => listener.stop()));
    await this.#senders.close();
    await this.#client?.close();
  }
}

/** Records every delivery and settles it. */
export function recording(
  settle: (delivery: Delivery) => Settlement | Promise<Settlement> = () => ({ kind: 'complete' }),
) {
  const seen: Delivery[] = [];
  const deliver: Deliver = async (delivery) => {
    seen.push(delivery);
    return settle(delivery);
  };
  return { seen, deliver };
}
