import type * as Sdk from '@azure/service-bus';
import type { ServiceBusClient, ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import type { Clock } from '@drover/service-kit';
import { withDeadline, untilAborted } from '../requests.js';
import type { DeadLetterDetails, MessageProperties } from '../locked-messages.js';
import type { BusMessage } from './bus-message.js';
import type { ServiceBusConnection } from './service-bus-connection.js';

/** How a message is settled at the service. */
export type BusOutcome =
  | { readonly kind: 'complete' }
  | { readonly kind: 'abandon'; readonly properties?: MessageProperties | undefined }
  | { readonly kind: 'defer'; readonly properties?: MessageProperties | undefined }
  | ({ readonly kind: 'deadLetter' } & DeadLetterDetails);

/** One AMQP connection. */
export interface Bus {
  readonly client: ServiceBusClient;
  /** Settles and renews messages of the entity, also those that another connection received, and peeks. Opens no link. */
  readonly entity: ServiceBusReceiver;
}

interface BusClientsOptions {
  readonly connection: ServiceBusConnection;
  readonly entityPath: string;
  readonly tryTimeoutMs: number;
  readonly clock: Clock;
}

/** Bodies stay bytes and dates stay dates; locks are renewed by the listener, by message and not by message id. */
export const receiveOptions = {
  receiveMode: 'peekLock',
  maxAutoLockRenewalDurationInMs: 0,
  skipParsingBodyAsJson: true,
  skipConvertingDate: true,
} as const;

/** Time limit for closing a connection politely. */
const closeWithinMs = 2_000;

/** Creates a client that tries once: its users retry with their own delays, deadlines and observations. */
export function createBusClient(
  sdk: typeof Sdk,
  { connection, tryTimeoutMs }: Pick<BusClientsOptions, 'connection' | 'tryTimeoutMs'>,
): ServiceBusClient {
  return new sdk.ServiceBusClient(connection.connectionString.reveal(), {
    retryOptions: { maxRetries: 0, retryDelayInMs: 200, maxRetryDelayInMs: 30_000, timeoutInMs: tryTimeoutMs },
  });
}

/** Closes a client. A service that does not answer cannot delay it: then the socket is destroyed. Never rejects. */
export async function closeBusClient(client: ServiceBusClient, clock: Clock): Promise<void> {
  let isClosed = false;
  const closing = client.close().then(
    () => void (isClosed = true),
    () => undefined,
  );
  const never = new AbortController().signal;
  await withDeadline(clock, closeWithinMs, never, (deadline) => untilAborted(closing, deadline));
  if (!isClosed) destroySocket(client);
}

/** The SDK has no way to give up a connection: a half-open one would keep the process alive. */
function destroySocket(client: ServiceBusClient): void {
  const { _connectionContext: context } = client as unknown as {
    readonly _connectionContext?: {
      readonly connection?: { readonly _connection?: { readonly socket?: { destroy?(): void } } };
    };
  }; // internals of the SDK, each of which may be missing
  context?.connection?._connection?.socket?.destroy?.();
}

/** The connection of one listener, replaced when it breaks. */
export class BusClients {
  readonly #options: BusClientsOptions;
  #current: Promise<Bus> | undefined;
  #bus: Bus | undefined;
  #closing: Promise<void>[] = [];

  constructor(options: BusClientsOptions) {
    this.#options = options;
  }

  /** Returns the connection in use. It connects at its first use. */
  current(): Promise<Bus> {
    this.#current ??= this.#create();
    return this.#current;
  }

  /** Replaces a connection that broke. */
  discard(bus: Bus): void {
    if (this.#bus === bus) {
      this.#bus = undefined;
      this.#current = undefined;
    }
    const closing = closeBusClient(bus.client, this.#options.clock);
    this.#closing.push(closing);
    void closing.then(() => (this.#closing = this.#closing.filter((other) => other !== closing)));
  }

  /** Replaces the connection in use, if there is one. */
  discardCurrent(): void {
    if (this.#bus) this.discard(this.#bus);
  }

  async close(): Promise<void> {
    const bus = await this.#current;
    if (bus) this.discard(bus);
    await Promise.all(this.#closing);
  }

  async #create(): Promise<Bus> {
    const sdk = await import('@azure/service-bus');
    const client = createBusClient(sdk, this.#options);
    this.#bus = { client, entity: client.createReceiver(this.#options.entityPath, { ...receiveOptions }) };
    return this.#bus;
  }
}

type Settler = Pick<ServiceBusReceiver, 'completeMessage' | 'abandonMessage' | 'deferMessage' | 'deadLetterMessage'>;

/** The service cuts longer texts. */
const longestReason = 4_096;

/**
 * A message for the SDK, which has not received it: it is settled and renewed by its lock token. The SDK reads no more of it,
 * except for messages that it has received itself.
 */
function byLockToken({ lockToken, messageId }: BusMessage): ServiceBusReceivedMessage {
  return { lockToken, messageId, delivery: {} } as unknown as ServiceBusReceivedMessage; // see above
}

/** Renews the lock of a message. Resolves with its new end. */
export function renewAtBus(receiver: ServiceBusReceiver, message: BusMessage): Promise<Date> {
  return receiver.renewMessageLock(byLockToken(message));
}

/** Settles a message by its lock token, over a connection that has not received it. */
export function settleAtBus(settler: Settler, message: BusMessage, outcome: BusOutcome): Promise<void> {
  return settleReceived(settler, byLockToken(message), outcome);
}

/** Sends the outcome of a message that this receiver has. The SDK writes it synchronously, so that outcomes of one turn are sent together. */
export function settleReceived(
  settler: Settler,
  message: ServiceBusReceivedMessage,
  outcome: BusOutcome,
): Promise<void> {
  switch (outcome.kind) {
    case 'complete':
      return settler.completeMessage(message);
    case 'abandon':
      return settler.abandonMessage(message, toProperties(outcome.properties));
    case 'defer':
      return settler.deferMessage(message, toProperties(outcome.properties));
    case 'deadLetter':
      return settler.deadLetterMessage(message, {
        ...toProperties(outcome.properties),
        // Their types say that both are required; the service does without.
        deadLetterReason: outcome.reason?.slice(0, longestReason) as string,
        deadLetterErrorDescription: outcome.description?.slice(0, longestReason) as string,
      });
  }
}

function toProperties(
  properties: MessageProperties | undefined,
): Record<string, string | number | boolean | Date | null> | undefined {
  return properties && { ...properties };
}

/** Outcomes with equal keys are equal on the wire. */
export function outcomeKey(outcome: BusOutcome): string {
  return outcome.kind === 'complete' ? outcome.kind : JSON.stringify(outcome);
}
