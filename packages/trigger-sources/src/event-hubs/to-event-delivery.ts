import { IsoTimes } from '../amqp/iso-times.js';
import type { Delivery } from '../trigger-source.js';
import type { HubEvent } from './hub-client.js';

const times = new IsoTimes();

/** The partition of a delivery, for its metadata. */
export interface DeliveryPlace {
  readonly host: string;
  readonly hub: string;
  readonly consumerGroup: string;
  readonly partitionId: string;
}

interface DeliveryRequest {
  readonly place: DeliveryPlace;
  /** At least one. */
  readonly events: readonly HubEvent[];
  readonly isBatch: boolean;
  readonly deliveryCount: number;
}

/** Converts events into a delivery with the trigger metadata of the official host. */
export function toEventDelivery({ place, events, isBatch, deliveryCount }: DeliveryRequest): Delivery {
  const [first] = events;
  if (!first) throw new RangeError('a delivery needs an event');
  const { host, hub, consumerGroup, partitionId } = place;
  const PartitionContext = {
    FullyQualifiedNamespace: host,
    EventHubName: hub,
    ConsumerGroup: consumerGroup,
    PartitionId: partitionId,
  };
  const last = events.at(-1)?.sequenceNumber;
  return {
    data: isBatch ? bodiesOf(events) : first.body,
    metadata: { PartitionContext, ...(isBatch ? metadataOfMany(events) : metadataOfOne(first)) },
    deliveryCount,
    id: `${hub}/${consumerGroup}/${partitionId}/${first.sequenceNumber}-${last}`,
    traceparent: events.length === 1 ? traceparentOf(first) : undefined,
  };
}

function metadataOfOne(event: HubEvent): Readonly<Record<string, unknown>> {
  return {
    PartitionKey: event.partitionKey,
    Offset: event.offset,
    SequenceNumber: event.sequenceNumber,
    EnqueuedTimeUtc: times.of(event.enqueuedAtMs),
    Properties: event.properties,
    SystemProperties: event.systemProperties,
  };
}

function metadataOfMany(events: readonly HubEvent[]): Readonly<Record<string, unknown>> {
  return {
    PartitionKeyArray: events.map(({ partitionKey }) => partitionKey ?? null),
    OffsetArray: events.map(({ offset }) => offset),
    SequenceNumberArray: events.map(({ sequenceNumber }) => sequenceNumber),
    EnqueuedTimeUtcArray: events.map(({ enqueuedAtMs }) => times.of(enqueuedAtMs)),
    PropertiesArray: events.map(({ properties }) => properties),
    SystemPropertiesArray: events.map(({ systemProperties }) => systemProperties),
  };
}

/** A batch is all text or all bytes. */
function bodiesOf(events: readonly HubEvent[]): readonly string[] | readonly Uint8Array[] {
  const bodies = events.map(({ body }) => body);
  if (bodies.every((body) => typeof body === 'string')) return bodies;
  return bodies.map((body) => (typeof body === 'string' ? Buffer.from(body) : body));
}

/** The SDKs of Azure write the trace context of the sender as `Diagnostic-Id`. */
function traceparentOf({ properties }: HubEvent): string | undefined {
  const value = properties['traceparent'] ?? properties['Diagnostic-Id'];
  return typeof value === 'string' ? value : undefined;
}
