import {
  encodeCompound,
  encodeInt,
  encodeLong,
  encodeString,
  encodeSymbol,
  encodeTimestamp,
} from '../../amqp/amqp-bytes.js';
import { encodeHeader, encodeMapSection } from '../../amqp/message-sections.js';
import type { BrokerMessage, MessageLock } from '../broker/message.js';
import { EncodedContent } from './encoded-content.js';

const keys = {
  sequenceNumber: encodeSymbol('x-opt-sequence-number'),
  enqueuedTime: encodeSymbol('x-opt-enqueued-time'),
  enqueuedSequenceNumber: encodeSymbol('x-opt-enqueue-sequence-number'),
  lockedUntil: encodeSymbol('x-opt-locked-until'),
  messageState: encodeSymbol('x-opt-message-state'),
  deadLetterSource: encodeSymbol('x-opt-deadletter-source'),
};
const messageAnnotationsCode = 0x72;
const uuidConstructor = Buffer.from([0x98]);
const stateCodes = { active: 0, deferred: 1, scheduled: 2, removed: 0 } as const;

/** Encodes a message for a receiver: a fresh header and annotations, then the sender's bytes. */
export function encodeDelivery(message: BrokerMessage): Buffer[] {
  const { content, lock } = message;
  const own = contentOf(message);
  const lifetimeMs =
    message.expiresAtMs === Infinity ? content.timeToLiveMs : message.expiresAtMs - message.enqueuedAtMs;
  const header = encodeHeader({
    deliveryCount: message.deliveryCount,
    ...(lifetimeMs !== undefined && { ttlMs: lifetimeMs }),
  });
  const items = [
    ...own.annotations,
    keys.sequenceNumber,
    encodeLong(message.sequenceNumber),
    keys.enqueuedTime,
    encodeTimestamp(message.enqueuedAtMs),
    keys.enqueuedSequenceNumber,
    encodeLong(message.enqueuedSequenceNumber),
  ];
  if (lock !== undefined) items.push(keys.lockedUntil, encodeTimestamp(lock.untilMs));
  if (message.state !== 'active' && message.state !== 'removed')
    items.push(keys.messageState, encodeInt(stateCodes[message.state]));
  if (message.deadLetterSource !== undefined) items.push(keys.deadLetterSource, encodeString(message.deadLetterSource));
  return [header, encodeCompound(messageAnnotationsCode, 'map', items), own.bare];
}

/**
 * Encodes a message that a management request has locked. It has no delivery tag, so an annotation carries its lock token: SDKs
 * read one or the other.
 */
export function encodeLockedDelivery(lock: MessageLock): Buffer {
  const token = Buffer.concat([uuidConstructor, Buffer.from(lock.token, 'hex')]);
  const [header, ...rest] = encodeDelivery(lock.message);
  const annotations = encodeMapSection('deliveryAnnotations', [['x-opt-lock-token', token]]);
  return Buffer.concat([...(header === undefined ? [] : [header]), annotations, ...rest]);
}

/** Every content in this service came from `decodeContent`. */
export function contentOf(message: BrokerMessage): EncodedContent {
  if (message.content instanceof EncodedContent) return message.content;
  throw new TypeError('The message content is not encoded AMQP.');
}

/** Delivery tag of a lock: its token as a GUID in .NET byte order, whose first three groups are little-endian. */
export function deliveryTag(token: string): Buffer {
  const tag = Buffer.from(token, 'hex');
  tag.subarray(0, 4).reverse();
  tag.subarray(4, 6).reverse();
  tag.subarray(6, 8).reverse();
  return tag;
}
