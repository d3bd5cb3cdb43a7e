import type { BrokerLog } from '../broker/broker-log.js';
import type { EntityDescription } from '../broker/entity-options.js';
import type { BrokerMessage, MessageContent } from '../broker/message.js';

/** A record is one line of JSON that begins with its type; messages and session states follow as bytes. */
type RecordHead =
  | ['entity', EntityDescription]
  | ['entity-deleted', string]
  | ['message', string, StoredMessage]
  | ['removed', string, number]
  | ['delivered', string, number]
  | ['returned', string, number, number]
  | ['session', string, string, boolean]
  | ['seen', string, string, number]
  | ['sequence', string, number];

type StoredMessage = Pick<
  BrokerMessage,
  'sequenceNumber' | 'enqueuedSequenceNumber' | 'enqueuedAtMs' | 'state' | 'deliveryCount'
> & {
  readonly expiresAtMs: number | null;
  readonly activatesAtMs?: number;
  readonly deadLetterSource?: string;
};

export interface ContentCodec {
  encode(content: MessageContent): Buffer;
  decode(encoded: Buffer): MessageContent;
}

/** What a replay rebuilds: everything a log hears, and the last number of a queue whose messages are gone. */
export interface ReplayLog extends BrokerLog {
  sequence(queue: string, lastSequenceNumber: number): void;
}

type EncodedRecord = string | readonly [string, Buffer];

const line = (head: RecordHead): string => `${JSON.stringify(head, encodeSpecial)}\n`;

export const encodeRecord = {
  entity: (description: EntityDescription): EncodedRecord => line(['entity', description]),
  entityDeleted: (path: string): EncodedRecord => line(['entity-deleted', path]),
  message: (queue: string, message: BrokerMessage, codec: ContentCodec): EncodedRecord => {
    const stored: StoredMessage = {
      sequenceNumber: message.sequenceNumber,
      enqueuedSequenceNumber: message.enqueuedSequenceNumber,
      enqueuedAtMs: message.enqueuedAtMs,
      expiresAtMs: message.expiresAtMs === Infinity ? null : message.expiresAtMs,
      state: message.state,
      deliveryCount: message.deliveryCount,
      ...(message.activatesAtMs !== undefined && { activatesAtMs: message.activatesAtMs }),
      ...(message.deadLetterSource !== undefined && { deadLetterSource: message.deadLetterSource }),
    };
    return [`${JSON.stringify(['message', queue, stored])}\n`, codec.encode(message.content)];
  },
  removed: (queue: string, sequenceNumber: number): EncodedRecord =>
    `${JSON.stringify(['removed', queue, sequenceNumber])}\n`,
  delivered: (queue: string, sequenceNumber: number): EncodedRecord =>
    `${JSON.stringify(['delivered', queue, sequenceNumber])}\n`,
  returned: (queue: string, sequenceNumber: number, deliveryCount: number): EncodedRecord =>
    line(['returned', queue, sequenceNumber, deliveryCount]),
  sessionState: (queue: string, sessionId: string, state: Buffer | undefined): EncodedRecord => [
    line(['session', queue, sessionId, state !== undefined]),
    state ?? Buffer.alloc(0),
  ],
  seen: (entity: string, messageId: string, atMs: number): EncodedRecord => line(['seen', entity, messageId, atMs]),
  sequence: (queue: string, lastSequenceNumber: number): EncodedRecord => line(['sequence', queue, lastSequenceNumber]),
};

/** Reads one record into a log. Throws SyntaxError for bytes that no `encodeRecord` wrote. */
export function replayRecord(record: Buffer, log: ReplayLog, codec: ContentCodec): void {
  const end = record.indexOf(0x0a);
  const head = JSON.parse(record.toString('utf8', 0, end), (_, value: unknown) => decodeSpecial(value)) as RecordHead;
  const bytes = record.subarray(end + 1);
  switch (head[0]) {
    case 'entity':
      return log.entity(head[1]);
    case 'entity-deleted':
      return log.entityDeleted(head[1]);
    case 'message':
      return log.message(head[1], restoreMessage(head[2], codec.decode(bytes)));
    case 'removed':
      return log.removed(head[1], head[2]);
    case 'delivered':
      return log.delivered(head[1], head[2]);
    case 'returned':
      return log.returned(head[1], head[2], head[3]);
    case 'session':
      return log.sessionState(head[1], head[2], head[3] ? Buffer.from(bytes) : undefined);
    case 'seen':
      return log.seen(head[1], head[2], head[3]);
    case 'sequence':
      return log.sequence(head[1], head[2]);
  }
}

function restoreMessage(stored: StoredMessage, content: MessageContent): BrokerMessage {
  return {
    sequenceNumber: stored.sequenceNumber,
    enqueuedSequenceNumber: stored.enqueuedSequenceNumber,
    enqueuedAtMs: stored.enqueuedAtMs,
    expiresAtMs: stored.expiresAtMs ?? Infinity,
    activatesAtMs: stored.activatesAtMs,
    deadLetterSource: stored.deadLetterSource,
    content,
    state: stored.state,
    deliveryCount: stored.deliveryCount,
    lock: undefined,
  };
}

/** Rules hold 64-bit integers and dates, which JSON does not have. `value` of a date is a string by now, so its holder is asked. */
function encodeSpecial(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const original = this[key];
  if (original instanceof Date) return { $date: original.getTime() };
  return typeof value === 'bigint' ? { $long: value.toString() } : value;
}

function decodeSpecial(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$long' in value) return BigInt(String(value.$long));
  return '$date' in value ? new Date(Number(value.$date)) : value;
}
