import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import type { Message } from 'rhea';

/** A message as it was received: values are plain JSON, times are Unix milliseconds. What it does not have is undefined. */
export interface BusMessage {
  /** A data section as it is, a text as UTF-8, any other value as JSON. */
  readonly body: Buffer;
  /** Undefined if the message came from the SDK. */
  readonly deliveryId: number | undefined;
  readonly lockToken: string | undefined;
  /** Number of deliveries, this one included. */
  readonly deliveryCount: number;
  readonly messageId: string | undefined;
  readonly correlationId: string | undefined;
  /** Exact: a text if it is beyond the exact numbers of JavaScript. */
  readonly sequenceNumber: number | string | undefined;
  readonly enqueuedSequenceNumber: unknown;
  readonly enqueuedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  readonly lockedUntilMs: number | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly timeToLiveMs: number | undefined;
  readonly contentType: unknown;
  readonly subject: unknown;
  readonly to: unknown;
  readonly replyTo: unknown;
  readonly replyToSessionId: unknown;
  readonly sessionId: unknown;
  readonly partitionKey: unknown;
  readonly viaPartitionKey: unknown;
  readonly deadLetterSource: unknown;
  /** 0: active, 1: deferred, 2: scheduled. */
  readonly state: number;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Shared by all messages without properties. */
export const noProperties: Readonly<Record<string, unknown>> = Object.freeze({});

const states = { active: 0, deferred: 1, scheduled: 2 } as const;

/** Converts a message that the SDK received. */
export function ofSdkMessage(message: ServiceBusReceivedMessage): BusMessage {
  const { applicationProperties, sequenceNumber } = message;
  return {
    body: bytesOf(message.body),
    deliveryId: undefined,
    lockToken: message.lockToken,
    deliveryCount: (message.deliveryCount ?? 0) + 1,
    messageId: idOf(message.messageId),
    correlationId: idOf(message.correlationId),
    sequenceNumber: sequenceNumber && exactNumber(sequenceNumber.toString()),
    enqueuedSequenceNumber: plain(message.enqueuedSequenceNumber),
    enqueuedAtMs: message.enqueuedTimeUtc?.getTime(),
    expiresAtMs: message.expiresAtUtc?.getTime(),
    lockedUntilMs: message.lockedUntilUtc?.getTime(),
    scheduledAtMs: message.scheduledEnqueueTimeUtc?.getTime(),
    timeToLiveMs: message.timeToLive,
    contentType: message.contentType,
    subject: message.subject,
    to: message.to,
    replyTo: message.replyTo,
    replyToSessionId: message.replyToSessionId,
    sessionId: message.sessionId,
    partitionKey: message.partitionKey,
    viaPartitionKey: plain(message._rawAmqpMessage.messageAnnotations?.['x-opt-via-partition-key']),
    deadLetterSource: message.deadLetterSource,
    state: states[message.state],
    properties: applicationProperties ? plainMap(applicationProperties) : noProperties,
  };
}

/** A delivery of AMQP. */
export interface BusDeliveryPlace {
  readonly deliveryId: number;
  readonly lockToken: string | undefined;
}

/** Converts a message that rhea decoded, with the same result as the SDK. */
export function ofRheaMessage(message: Message, { deliveryId, lockToken }: BusDeliveryPlace): BusMessage {
  const annotations = (message.message_annotations ?? noProperties) as Readonly<Record<string, unknown>>; // a map of AMQP
  const sequenceNumber = annotations['x-opt-sequence-number'];
  const enqueuedAtMs = msOf(annotations['x-opt-enqueued-time']);
  const ownState = annotations['x-opt-message-state'];
  return {
    body: bytesOf(contentOf(message.body)),
    deliveryId,
    lockToken,
    deliveryCount: (message.delivery_count ?? 0) + 1,
    messageId: idOf(message.message_id),
    correlationId: idOf(message.correlation_id),
    sequenceNumber: isMissing(sequenceNumber) ? undefined : exactNumber(String(plain(sequenceNumber))),
    enqueuedSequenceNumber: orUndefined(plain(annotations['x-opt-enqueue-sequence-number'])),
    enqueuedAtMs,
    ...lifetimeOf({
      ttlMs: message.ttl,
      expiryMs: msOf(message.absolute_expiry_time),
      creationMs: msOf(message.creation_time),
      enqueuedAtMs,
    }),
    lockedUntilMs: msOf(annotations['x-opt-locked-until']),
    scheduledAtMs: msOf(annotations['x-opt-scheduled-enqueue-time']),
    contentType: orUndefined(message.content_type),
    subject: orUndefined(message.subject),
    to: orUndefined(message.to),
    replyTo: orUndefined(message.reply_to),
    replyToSessionId: orUndefined(message.reply_to_group_id),
    sessionId: orUndefined(message.group_id),
    partitionKey: orUndefined(annotations['x-opt-partition-key']),
    viaPartitionKey: orUndefined(plain(annotations['x-opt-via-partition-key'])),
    deadLetterSource: orUndefined(annotations['x-opt-deadletter-source']),
    state: ownState === 1 || ownState === 2 ? ownState : 0,
    properties: message.application_properties ? plainMap(message.application_properties) : noProperties,
  };
}

/** What the SDK takes for "never": a time to live that ends beyond it is cut. */
const longestMs = 922_337_203_685_477;
const latestExpiryMs = Date.parse('9999-12-31T07:59:59.000Z');

interface LifetimeFields {
  /** Of the header, which cannot express more than 49 days. */
  readonly ttlMs: number | undefined;
  readonly expiryMs: number | undefined;
  readonly creationMs: number | undefined;
  readonly enqueuedAtMs: number | undefined;
}

/** Returns how long a message lives and when it expires, by the rules of the SDK. */
export function lifetimeOf({
  ttlMs,
  expiryMs,
  creationMs,
  enqueuedAtMs,
}: LifetimeFields): Pick<BusMessage, 'timeToLiveMs' | 'expiresAtMs'> {
  const isExplicit = expiryMs !== undefined && creationMs !== undefined;
  const livesMs = isExplicit ? Math.min(expiryMs, latestExpiryMs) - creationMs : ttlMs;
  const expiresAtMs =
    enqueuedAtMs === undefined ? undefined : Math.min(enqueuedAtMs + (ttlMs ?? livesMs ?? longestMs), longestMs);
  return { timeToLiveMs: livesMs || undefined, expiresAtMs };
}

/** Positions of the bytes of a GUID in the byte order of .NET. */
const guidOrder = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15] as const;
const guid = Buffer.alloc(16);

/** Returns the lock token of a delivery: its tag is a GUID. */
export function lockTokenOf(tag: Buffer): string | undefined {
  if (tag.length !== 16) return undefined;
  for (let at = 0; at < 16; at += 1) guid[at] = tag[guidOrder[at] ?? 0] ?? 0;
  const hex = guid.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Numbers beyond double precision stay exact as text. */
function exactNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

function isMissing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function orUndefined(value: unknown): unknown {
  return value === null ? undefined : value;
}

function msOf(time: unknown): number | undefined {
  if (isMissing(time)) return undefined;
  return time instanceof Date ? time.getTime() : Number(time);
}

/** Ids may be numbers and bytes on the wire; .NET has texts. */
function idOf(id: string | number | Buffer | null | undefined): string | undefined {
  if (isMissing(id)) return undefined;
  return Buffer.isBuffer(id) ? id.toString('hex') : String(id);
}

/** Makes values of AMQP plain JSON. */
function plain(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? value.toString() : value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return plainBytes(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  if (Array.isArray(value)) return value.map(plain);
  return plainMap(value);
}

function plainMap(map: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(map).map(([key, inner]) => [key, plain(inner)]));
}

/** Eight bytes are a 64-bit integer that JavaScript cannot represent: rhea has no other form for it. */
export function plainBytes(bytes: Buffer): string {
  return bytes.length === 8 ? bytes.readBigInt64BE().toString() : bytes.toString('base64');
}

/** The content of a section of rhea; a value as its body is not in a section. */
function contentOf(body: unknown): unknown {
  const { typecode, content } = Object(body) as { readonly typecode?: unknown; readonly content?: unknown }; // a section of rhea, if any
  return typecode === 0x75 || typecode === 0x76 || typecode === 0x77 ? content : body;
}

function bytesOf(content: unknown): Buffer {
  if (Buffer.isBuffer(content)) return content;
  if (content instanceof Uint8Array) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  // Several data sections count as one.
  if (Array.isArray(content) && content.length > 0 && content.every((part) => part instanceof Uint8Array))
    return Buffer.concat(content);
  if (isMissing(content)) return Buffer.alloc(0);
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(plain(content)));
}
