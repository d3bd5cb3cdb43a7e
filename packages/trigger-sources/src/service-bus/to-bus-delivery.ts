import { isUtf8 } from 'node:buffer';
import { IsoTimes } from '../amqp/iso-times.js';
import { formatTimeSpan } from '../options/time-span.js';
import type { Delivery } from '../trigger-source.js';
import type { BusMessage } from './bus-message.js';

type DataType = 'text' | 'bytes';

/** Converts a message into a delivery. Bytes that are not UTF-8 stay bytes, whatever the data type of the function. */
export function toBusDelivery(message: BusMessage, dataType: DataType): Delivery {
  const { body, deliveryCount } = message;
  const metadata: Record<string, unknown> = {};
  for (const { name, read } of fields) {
    const value = read(message);
    if (value !== undefined) metadata[name] = value;
  }
  return {
    data: dataType === 'text' && isUtf8(body) ? body.toString('utf8') : body,
    metadata,
    deliveryCount,
    ...identityOf(message),
    traceparent: traceparentOf(message),
  };
}

/** Converts several messages into one delivery: every value of the metadata is an array, its name ends with `Array`. */
export function toBusBatch(messages: readonly BusMessage[], dataType: DataType): Delivery {
  const [first] = messages;
  const isText = dataType === 'text' && messages.every(({ body }) => isUtf8(body));
  const metadata: Record<string, readonly unknown[]> = {};
  for (const { arrayName, read } of fields) {
    const column = columnOf(messages, read);
    if (column) metadata[arrayName] = column;
  }
  return {
    data: isText ? messages.map(({ body }) => body.toString('utf8')) : messages.map(({ body }) => body),
    metadata,
    deliveryCount: messages.reduce((most, message) => Math.max(most, message.deliveryCount), 1),
    ...(first && identityOf(first)),
    traceparent: undefined,
  };
}

type Read = (message: BusMessage) => unknown;

/** One element per message, so that indexes agree: null where a message has no value. Undefined if none has one. */
function columnOf(messages: readonly BusMessage[], read: Read): readonly unknown[] | undefined {
  let hasValue = false;
  const column = messages.map((message) => {
    const value = read(message);
    if (value === undefined) return null;
    hasValue = true;
    return value;
  });
  return hasValue ? column : undefined;
}

/** Senders choose message ids, and use them twice; the number is unique in its entity. */
function identityOf({ sequenceNumber }: BusMessage): Pick<Delivery, 'id'> {
  return sequenceNumber === undefined ? {} : { id: `sequence number ${sequenceNumber}` };
}

/** The last moment that .NET can represent: what the service reports for a message that never expires. */
const latestTime = '9999-12-31T23:59:59.9999999Z';
const latestMs = Date.parse('9999-12-31T23:59:59.999Z');
/** One for each field: they alternate. */
const [enqueued, expires, scheduled, locked] = [new IsoTimes(), new IsoTimes(), new IsoTimes(), new IsoTimes()];

const toTime = (times: IsoTimes, atMs: number | undefined): string | undefined =>
  atMs === undefined ? undefined : times.of(atMs);

/** The metadata of the official host. */
const fields = Object.entries({
  MessageId: (message) => message.messageId,
  SequenceNumber: (message) => message.sequenceNumber,
  EnqueuedSequenceNumber: (message) => message.enqueuedSequenceNumber,
  DeliveryCount: (message) => message.deliveryCount,
  EnqueuedTimeUtc: (message) => toTime(enqueued, message.enqueuedAtMs),
  ExpiresAtUtc: ({ expiresAtMs }) =>
    expiresAtMs !== undefined && expiresAtMs > latestMs ? latestTime : toTime(expires, expiresAtMs),
  ScheduledEnqueueTimeUtc: (message) => toTime(scheduled, message.scheduledAtMs),
  LockToken: (message) => message.lockToken,
  LockedUntil: (message) => toTime(locked, message.lockedUntilMs)?.replace('Z', '+00:00'),
  ContentType: (message) => message.contentType,
  CorrelationId: (message) => message.correlationId,
  Subject: (message) => message.subject,
  Label: (message) => message.subject,
  ReplyTo: (message) => message.replyTo,
  ReplyToSessionId: (message) => message.replyToSessionId,
  To: (message) => message.to,
  SessionId: (message) => message.sessionId,
  PartitionKey: (message) => message.partitionKey,
  TransactionPartitionKey: (message) => message.viaPartitionKey,
  DeadLetterSource: (message) => message.deadLetterSource,
  DeadLetterReason: ({ properties }) => properties['DeadLetterReason'] ?? undefined,
  DeadLetterErrorDescription: ({ properties }) => properties['DeadLetterErrorDescription'] ?? undefined,
  TimeToLive: ({ timeToLiveMs }) => (timeToLiveMs === undefined ? undefined : formatTimeSpan(timeToLiveMs)),
  State: (message) => message.state,
  ApplicationProperties: (message) => message.properties,
  UserProperties: (message) => message.properties,
} satisfies Readonly<Record<string, Read>>).map(([name, read]: [string, Read]) => ({
  name,
  arrayName: `${name}Array`,
  read,
}));

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** SDKs of Azure write the trace context into `Diagnostic-Id`, newer ones into `traceparent`. */
function traceparentOf({ properties }: BusMessage): string | undefined {
  const found = properties['traceparent'] ?? properties['Diagnostic-Id'];
  return typeof found === 'string' && traceparentPattern.test(found) ? found : undefined;
}
