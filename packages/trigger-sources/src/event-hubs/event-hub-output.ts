import type { EventData, EventDataBatch, EventHubProducerClient } from '@azure/event-hubs';
import { isCodedError } from '@drover/contracts';
import type { Clock, Observe } from '@drover/service-kit';
import { eventHubEventUnsendable, eventHubUnavailable } from '../errors.js';
import { rejectOnAbort, untilAborted, withDeadline } from '../requests.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import { toConnectionString, type EventHubConnection } from './event-hub-connection.js';
import type { DeadLetterTarget, HubEvent } from './hub-client.js';
import { hubFailureOf, hubReason } from './hub-failure.js';
import { toOutputEvent } from './hub-output-event.js';
import type { EventHubObservation } from './observations.js';
import type { ClientRetries } from './option-kinds.js';

const longestReason = 4_096;
const defaultRetries = 3;
const defaultTryMs = 15_000;
const closeWithinMs = 2_000;

interface HubProducerOptions {
  readonly connection: EventHubConnection;
  readonly hub: string;
  readonly customEndpointAddress: string | undefined;
  readonly retries: ClientRetries;
  readonly clock: Clock;
}

/** Sends events to one hub with the SDK, which is loaded at the first send. Resolves when the service has stored them. */
export class HubProducer {
  readonly hub: string;
  readonly #options: HubProducerOptions;
  #client: Promise<EventHubProducerClient> | undefined;

  constructor(options: HubProducerOptions) {
    this.hub = options.hub;
    this.#options = options;
  }

  /** If it fails, some events may have been stored: delivery is at least once. Throws EVENT_HUB_UNAVAILABLE or EVENT_HUB_EVENT_UNSENDABLE. */
  async send(events: readonly EventData[], partitionKey: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, retries } = this.#options;
    const opening = (this.#client ??= this.#open());
    // The SDK may wait for ever on a connection that was cut at the wrong moment.
    const withinMs = 2 * (retries.tryTimeout ?? defaultTryMs) * (1 + (retries.maxRetries ?? defaultRetries));
    try {
      await withDeadline(clock, withinMs, signal, (limited) =>
        rejectOnAbort(async () => this.#sendAll(await opening, events, partitionKey, limited), limited),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (hubFailureOf(error) === 'refused')
        throw eventHubEventUnsendable({ hub: this.hub, problem: `was refused: ${hubReason(error)}` }, error);
      if (isCodedError(error)) throw error;
      if (this.#client === opening) this.#client = undefined;
      void opening.then((client) => client.close()).catch(() => undefined);
      throw eventHubUnavailable({ hub: this.hub, operation: 'send', reason: hubReason(error) }, error);
    }
  }

  async #sendAll(
    client: EventHubProducerClient,
    events: readonly EventData[],
    partitionKey: string | undefined,
    abortSignal: AbortSignal,
  ): Promise<void> {
    const options = { ...(partitionKey !== undefined && { partitionKey }), abortSignal };
    let batch = await client.createBatch(options);
    for (const event of events) {
      if (batch.tryAdd(event)) continue;
      if (batch.count > 0) {
        await client.sendBatch(batch, { abortSignal });
        batch = await client.createBatch(options);
      }
      if (!batch.tryAdd(event)) throw this.#tooLarge(batch);
    }
    if (batch.count > 0) await client.sendBatch(batch, { abortSignal });
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    // A client whose connection is cut may never finish.
    await withDeadline(this.#options.clock, closeWithinMs, new AbortController().signal, (limited) =>
      untilAborted(client?.close().catch(() => undefined) ?? Promise.resolve(), limited),
    );
  }

  #tooLarge({ maxSizeInBytes }: EventDataBatch): Error {
    const problem = `is larger than the limit of ${maxSizeInBytes} bytes. Store large content elsewhere and send its address`;
    return eventHubEventUnsendable({ hub: this.hub, problem });
  }

  async #open(): Promise<EventHubProducerClient> {
    const { connection, hub, customEndpointAddress, retries } = this.#options;
    const { EventHubProducerClient: Client, RetryMode } = await import('@azure/event-hubs');
    return new Client(toConnectionString(connection), hub, {
      ...(customEndpointAddress !== undefined && { customEndpointAddress }),
      retryOptions: {
        mode: RetryMode.Exponential,
        maxRetries: retries.maxRetries ?? defaultRetries,
        retryDelayInMs: retries.delay ?? 200,
        maxRetryDelayInMs: retries.maxDelay ?? 5_000,
        timeoutInMs: retries.tryTimeout ?? defaultTryMs,
      },
    });
  }
}

interface EventHubOutputParts {
  readonly functionName: string;
  readonly producer: HubProducer;
  readonly partitionKey: string | undefined;
  readonly eventProperties: Readonly<Record<string, unknown>>;
  /** Wakes the listeners of this process. */
  readonly wake: () => void;
  readonly observe: Observe<EventHubObservation>;
}

/** The target of an output binding. */
export class EventHubOutput implements OutputTarget {
  readonly #parts: EventHubOutputParts;

  constructor(parts: EventHubOutputParts) {
    this.#parts = parts;
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, producer, partitionKey, eventProperties: properties, wake, observe } = this.#parts;
    // All are converted before the first is sent, so that an invalid one fails the whole call.
    const events = messages.map((message) => toOutputEvent(message, { hub: producer.hub, partitionKey, properties }));
    try {
      for (const [key, group] of byKey(events))
        await producer.send(
          group.map(({ event }) => event),
          key,
          signal,
        );
    } finally {
      wake(); // also after a failure: some may have been stored
    }
    if (events.length > 0) observe({ kind: 'event-hub.sent', functionName, hub: producer.hub, events: events.length });
  }
}

/** A hub as dead letters: copies keep body, key and properties, and say where they come from and why. */
export class DeadLetterHub implements DeadLetterTarget {
  readonly name: string;
  readonly #producer: HubProducer;
  readonly #source: string;

  constructor(producer: HubProducer, source: string) {
    this.name = producer.hub;
    this.#producer = producer;
    this.#source = source;
  }

  async send(events: readonly HubEvent[], reason: string, signal: AbortSignal): Promise<void> {
    for (const [key, group] of byKey(events)) {
      const copies = group.map((event) => ({
        body: Buffer.from(event.body),
        properties: {
          ...event.properties,
          DeadLetterReason: reason.slice(0, longestReason),
          DeadLetterSource: this.#source,
          DeadLetterSequenceNumber: event.sequenceNumber,
          DeadLetterOffset: event.offset,
        },
      }));
      await this.#producer.send(copies, key, signal);
    }
  }
}

/** A batch on the wire has one key. Events with the same key stay in order. */
function byKey<Keyed extends { readonly partitionKey: string | undefined }>(
  events: readonly Keyed[],
): ReadonlyMap<string | undefined, readonly Keyed[]> {
  const groups = new Map<string | undefined, Keyed[]>();
  for (const event of events) {
    const group = groups.get(event.partitionKey);
    if (group) group.push(event);
    else groups.set(event.partitionKey, [event]);
  }
  return groups;
}
