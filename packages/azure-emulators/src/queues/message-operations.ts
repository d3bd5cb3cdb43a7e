import type { QueueReply } from './queue-reply.js';
import { numberParameter, requiredParameter, type QueueRequest } from './queue-request.js';
import type { StorageQueueStore } from './storage-queue-store.js';
import { messageTooLarge, invalidQueryParameter, invalidXml } from './storage-error.js';
import { popReceiptOf, type StoredMessage, type EmulatedQueue } from './emulated-queue.js';
import { childOf, escapeXml, parseXml, unescapeXml, xmlDeclaration } from '../xml/xml.js';

const sevenDays = 7 * 24 * 3600;
export const maxTextBytes = 64 * 1024;
/** What Azure reports for a message that never expires. */
export const neverExpires = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The operations on messages. `now` is the time of the request in milliseconds since 1970. */
export function putMessage(
  store: StorageQueueStore,
  queue: EmulatedQueue,
  request: QueueRequest,
  now: number,
): QueueReply {
  const hiddenSeconds = numberParameter(request, 'visibilitytimeout', { min: 0, max: sevenDays }) ?? 0;
  const expiresAt = expiryOf(request, hiddenSeconds, now);
  const xmlText = textOfBody(request.body);
  if (xmlText === undefined) throw invalidXml('The element MessageText is missing.');
  const { value, durable } = store.put(queue, { xmlText, hiddenMs: hiddenSeconds * 1000, expiresAt });
  const times = `<PopReceipt>${popReceiptOf(value)}</PopReceipt><TimeNextVisible>${httpDate(value.visibleAt)}</TimeNextVisible>`;
  return { status: 201, body: listOf(`<QueueMessage>${identity(value)}${times}</QueueMessage>`), durable };
}

export function getMessages(store: StorageQueueStore, queue: EmulatedQueue, request: QueueRequest): QueueReply {
  const count = numberParameter(request, 'numofmessages', { min: 1, max: 32 }) ?? 1;
  const hiddenSeconds = numberParameter(request, 'visibilitytimeout', { min: 1, max: sevenDays }) ?? 30;
  const { value, durable } = store.receive(queue, count, hiddenSeconds * 1000);
  let messages = '';
  for (const message of value) {
    messages +=
      `<QueueMessage>${identity(message)}<PopReceipt>${popReceiptOf(message)}</PopReceipt>` +
      `<TimeNextVisible>${httpDate(message.visibleAt)}</TimeNextVisible>${content(message)}</QueueMessage>`;
  }
  return { status: 200, body: listOf(messages), durable };
}

export function peekMessages(queue: EmulatedQueue, request: QueueRequest): QueueReply {
  const count = numberParameter(request, 'numofmessages', { min: 1, max: 32 }) ?? 1;
  const messages = queue
    .ready(count)
    .map((message) => `<QueueMessage>${identity(message)}${content(message)}</QueueMessage>`);
  return { status: 200, body: listOf(messages.join('')) };
}

export function updateMessage(store: StorageQueueStore, queue: EmulatedQueue, request: QueueRequest): QueueReply {
  const popReceipt = requiredParameter(request, 'popreceipt');
  requiredParameter(request, 'visibilitytimeout');
  const hiddenSeconds = numberParameter(request, 'visibilitytimeout', { min: 0, max: sevenDays }) ?? 0;
  const xmlText = request.body === '' ? undefined : textOfBody(request.body);
  const change = { id: request.segments[2] ?? '', popReceipt, hiddenMs: hiddenSeconds * 1000, xmlText };
  const { value, durable } = store.update(queue, change);
  const headers = ['x-ms-popreceipt', popReceiptOf(value), 'x-ms-time-next-visible', httpDate(value.visibleAt)];
  return { status: 204, headers, durable };
}

export function deleteMessage(store: StorageQueueStore, queue: EmulatedQueue, request: QueueRequest): QueueReply {
  const popReceipt = requiredParameter(request, 'popreceipt');
  return { status: 204, durable: store.delete(queue, { id: request.segments[2] ?? '', popReceipt }).durable };
}

export const clearMessages = (store: StorageQueueStore, queue: EmulatedQueue): QueueReply => ({
  status: 204,
  durable: store.clear(queue).durable,
});

function expiryOf(request: QueueRequest, hiddenSeconds: number, now: number): number {
  const text = request.query.get('messagettl');
  const seconds = numberParameter(request, 'messagettl', { min: -Infinity, max: Infinity }) ?? sevenDays;
  if (seconds === -1) return neverExpires;
  if (seconds < 1) {
    throw invalidQueryParameter(
      'messagettl',
      `${text}`,
      'Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.',
    );
  }
  if (text !== undefined && hiddenSeconds >= seconds) {
    throw invalidQueryParameter(
      'visibilitytimeout',
      `${hiddenSeconds}`,
      'messagettl must be greater than visibilitytimeout.',
    );
  }
  return Math.min(now + seconds * 1000, neverExpires);
}

/** The body that the SDKs send. Any other is parsed. */
const usualBody = /^(?:<\?xml[^>]*\?>)?\s*<QueueMessage>\s*<MessageText>([^<]*)<\/MessageText>\s*<\/QueueMessage>\s*$/;

/** Returns the text of a message as it is in the XML. Throws if it is longer than 64 KiB. */
function textOfBody(body: string): string | undefined {
  const xmlText = usualBody.exec(body)?.[1] ?? parsedText(body);
  if (xmlText !== undefined && byteLength(xmlText) > maxTextBytes) throw messageTooLarge(maxTextBytes);
  return xmlText;
}

function parsedText(body: string): string | undefined {
  const root = parseXml(body);
  const text = root.name === 'QueueMessage' ? childOf(root, 'MessageText')?.text : undefined;
  return text === undefined ? undefined : escapeXml(text);
}

/** Bytes of the text itself, entities resolved: also checks them. */
const byteLength = (xmlText: string): number => Buffer.byteLength(unescapeXml(xmlText));

const listOf = (messages: string): string => `${xmlDeclaration}<QueueMessagesList>${messages}</QueueMessagesList>`;

const identity = ({ id, insertedAt, expiresAt }: StoredMessage): string =>
  `<MessageId>${id}</MessageId><InsertionTime>${httpDate(insertedAt)}</InsertionTime>` +
  `<ExpirationTime>${httpDate(expiresAt)}</ExpirationTime>`;

const content = ({ dequeueCount, xmlText }: StoredMessage): string =>
  `<DequeueCount>${dequeueCount}</DequeueCount><MessageText>${xmlText}</MessageText>`;

/** Texts of seconds that were asked for lately: each message has three times, and most messages share them. */
const knownDates = new Map<number, string>();
const mostKnownDates = 1_000;

function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  let text = knownDates.get(second);
  if (text === undefined) {
    if (knownDates.size >= mostKnownDates) knownDates.clear();
    text = new Date(second * 1000).toUTCString();
    knownDates.set(second, text);
  }
  return text;
}
