import { isUtf8 } from 'node:buffer';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { formatTimeSpan } from '../options/time-span.js';
import type { Delivery } from '../trigger-source.js';

type DataType = 'text' | 'bytes';

/** Number of deliveries, this one included. The SDK counts the earlier ones. */
export function deliveryCountOf({ deliveryCount }: ServiceBusReceivedMessage): number {
  return (deliveryCount ?? 0) + 1;
}

/** Converts a message into a delivery. Bytes that are not UTF-8 stay bytes, whatever the data type of the function. */
export function toBusDelivery(message: ServiceBusReceivedMessage, dataType: DataType): Delivery {
  const bytes = bytesOf(message);
  return {
    data: dataType === 'text' && isUtf8(bytes) ? bytes.toString('utf8') : bytes,
    metadata: metadataOf(message),
    deliveryCount: deliveryCountOf(message),
    ...identityOf(message),
    traceparent: traceparentOf(message),
  };
}

/** Converts several messages into one delivery: every value of the metadata is an array, its name ends with `Array`. */
export function toBusBatch(messages: readonly ServiceBusReceivedMessage[], dataType: DataType): Delivery {
  const bodies = messages.map(bytesOf);
  const [first] = messages;
  const isText = dataType === 'text' && bodies.every((bytes) => isUtf8(bytes));
  return {
    data: isText ? bodies.map((bytes) => bytes.toString('utf8')) : bodies,
    metadata: toArrays(messages.map(metadataOf)),
    deliveryCount: messages.reduce((most, message) => Math.max(most, deliveryCountOf(message)), 1),
    ...(first && identityOf(first)),
    traceparent: undefined,
  };
}

/** Senders choose message ids, and use them twice; the number is unique in its entity. */
function identityOf({ sequenceNumber }: ServiceBusReceivedMessage): Pick<Delivery, 'id'> {
  return sequenceNumber === undefined ? {} : { id: `sequence number ${sequenceNumber.toString()}` };
}

/** The arrays have one element per message, so that indexes agree: null where a message has no value. */
function toArrays(all: readonly Readonly<Record<string, unknown>>[]): Record<string, readonly unknown[]> {
  const names = new Set(all.flatMap((metadata) => Object.keys(metadata)));
  const arrays: Record<string, readonly unknown[]> = {};
  for (const name of names) arrays[`${name}Array`] = all.map((metadata) => metadata[name] ?? null);
  return arrays;
}

const stateNumbers = { active: 0, deferred: 1, scheduled: 2 } as const;

function metadataOf(message: ServiceBusReceivedMessage): Record<string, unknown> {
  const metadata: Record<string, unknown> = {};
  const add = (name: string, value: unknown): void => {
    if (value !== undefined && value !== null) metadata[name] = value;
  };
  const { timeToLive, sequenceNumber, applicationProperties } = message;
  const properties = applicationProperties ? plain(applicationProperties) : {};
  add('MessageId', idOf(message.messageId));
  add('SequenceNumber', sequenceNumber && toNumber(sequenceNumber));
  add('EnqueuedSequenceNumber', plain(message.enqueuedSequenceNumber));
  add('DeliveryCount', deliveryCountOf(message));
  add('EnqueuedTimeUtc', message.enqueuedTimeUtc?.toISOString());
  add('ExpiresAtUtc', timeOf(message.expiresAtUtc));
  add('ScheduledEnqueueTimeUtc', message.scheduledEnqueueTimeUtc?.toISOString());
  add('LockToken', message.lockToken);
  add('LockedUntil', message.lockedUntilUtc?.toISOString().replace('Z', '+00:00'));
  add('ContentType', message.contentType);
  add('CorrelationId', idOf(message.correlationId));
  add('Subject', message.subject);
  add('Label', message.subject);
  add('ReplyTo', message.replyTo);
  add('ReplyToSessionId', message.replyToSessionId);
  add('To', message.to);
  add('SessionId', message.sessionId);
  add('PartitionKey', message.partitionKey);
  add('TransactionPartitionKey', plain(message._rawAmqpMessage.messageAnnotations?.['x-opt-via-partition-key']));
  add('DeadLetterSource', message.deadLetterSource);
  add('DeadLetterReason', message.deadLetterReason);
  add('DeadLetterErrorDescription', message.deadLetterErrorDescription);
  add('TimeToLive', timeToLive === undefined ? undefined : formatTimeSpan(timeToLive));
  add('State', stateNumbers[message.state]);
  add('ApplicationProperties', properties);
  add('UserProperties', properties);
  return metadata;
}

/** The last moment that .NET can represent: what the service reports for a message that never expires. */
const latestTime = '9999-12-31T23:59:59.9999999Z';

function timeOf(time: Date | undefined): string | undefined {
  if (!time) return undefined;
  return time.getUTCFullYear() > 9_999 ? latestTime : time.toISOString();
}

/** Ids may be numbers and bytes on the wire; .NET has texts. */
function idOf(id: string | number | Buffer | undefined): string | undefined {
  if (id === undefined) return undefined;
  return Buffer.isBuffer(id) ? id.toString('hex') : String(id);
}

/** Numbers beyond double precision stay exact as text. */
function toNumber(long: { toString(): string }): number | string {
  const text = long.toString();
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** Makes values of AMQP plain JSON: 64-bit integers that JavaScript cannot represent come as eight bytes. */
function plain(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? value.toString() : value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return bytes.length === 8 ? bytes.readBigInt64BE().toString() : bytes.toString('base64');
  }
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** The body as bytes: a data section as it is, a text as UTF-8, any other value as JSON. */
function bytesOf({ body }: ServiceBusReceivedMessage): Buffer {
  const content: unknown = body;
  if (Buffer.isBuffer(content)) return content;
  if (content instanceof Uint8Array) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  // Several data sections count as one.
  if (Array.isArray(content) && content.length > 0 && content.every((part) => part instanceof Uint8Array))
    return Buffer.concat(content);
  if (content === undefined || content === null) return Buffer.alloc(0);
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(plain(content)));
}

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** SDKs of Azure write the trace context into `Diagnostic-Id`, newer ones into `traceparent`. */
function traceparentOf({ applicationProperties }: ServiceBusReceivedMessage): string | undefined {
  const found = applicationProperties?.['traceparent'] ?? applicationProperties?.['Diagnostic-Id'];
  return typeof found === 'string' && traceparentPattern.test(found) ? found : undefined;
}
