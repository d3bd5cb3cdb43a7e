import { writeInt64 } from '../amqp/amqp-bytes.js';

/** An event as a producer sent it: what is passed on untouched, and its own annotations. */
export interface IncomingEvent {
  /** Properties, application properties, body and footer. */
  readonly bare: Buffer;
  /** Encoded keys and values, alternating: annotations that do not belong to the service. */
  readonly annotations: readonly Buffer[];
}

/**
 * Events that were appended together, encoded the way consumers get them: one buffer for all, so that an event costs its bytes
 * and an offset, and a delivery costs nothing but the copy to the socket.
 */
export interface StoredBatch {
  readonly firstSequence: number;
  readonly enqueuedMs: number;
  /** Offset of the first event; the offset of event i is `baseOffset + starts[i]`. */
  readonly baseOffset: number;
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

interface Placement {
  readonly firstSequence: number;
  readonly baseOffset: number;
  readonly enqueuedMs: number;
  /** Encoded partition key, or undefined. */
  readonly partitionKey: Buffer | undefined;
}

const symbol = (text: string): Buffer => Buffer.concat([Buffer.from([0xa3, text.length]), Buffer.from(text, 'ascii')]);
/** Section descriptor, map32 with room for its size and count. */
const sectionHead = Buffer.from([0x00, 0x53, 0x72, 0xd1, 0, 0, 0, 0, 0, 0, 0, 0]);
const sequenceKey = Buffer.concat([symbol('x-opt-sequence-number'), Buffer.from([0x81])]);
const timeKey = Buffer.concat([symbol('x-opt-enqueued-time'), Buffer.from([0x83])]);
const offsetKey = Buffer.concat([symbol('x-opt-offset'), Buffer.from([0xa1])]);
const partitionKeyKey = symbol('x-opt-partition-key');
const fixedBytes = sectionHead.length + sequenceKey.length + 8 + timeKey.length + 8 + offsetKey.length + 1;

/** Encodes events as message annotations and bare message, with consecutive sequence numbers and byte offsets. */
export function encodeEvents(events: readonly IncomingEvent[], placement: Placement): StoredBatch {
  const starts = new Uint32Array(events.length);
  const keyBytes = placement.partitionKey ? partitionKeyKey.length + placement.partitionKey.length : 0;
  let size = 0;
  for (const [index, event] of events.entries()) {
    starts[index] = size;
    size +=
      fixedBytes + digits(placement.baseOffset + size) + keyBytes + bytesOf(event.annotations) + event.bare.length;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  for (const [index, event] of events.entries()) {
    const start = starts[index] ?? 0;
    const sequence = placement.firstSequence + index;
    const end = writeAnnotations(bytes, start, sequence, String(placement.baseOffset + start), event, placement);
    event.bare.copy(bytes, end);
  }
  const { firstSequence, enqueuedMs, baseOffset } = placement;
  return { firstSequence, enqueuedMs, baseOffset, bytes, starts };
}

function writeAnnotations(
  target: Buffer,
  start: number,
  sequence: number,
  offset: string,
  event: IncomingEvent,
  { enqueuedMs, partitionKey }: Placement,
): number {
  let at = start + sectionHead.copy(target, start);
  at += sequenceKey.copy(target, at);
  writeInt64(target, sequence, at);
  at += 8;
  at += timeKey.copy(target, at);
  writeInt64(target, enqueuedMs, at);
  at += 8;
  at += offsetKey.copy(target, at);
  target[at] = offset.length;
  at += 1;
  at += target.write(offset, at, 'latin1');
  let items = 6;
  if (partitionKey) {
    at += partitionKeyKey.copy(target, at);
    at += partitionKey.copy(target, at);
    items += 2;
  }
  for (const item of event.annotations) at += item.copy(target, at);
  items += event.annotations.length;
  target.writeUInt32BE(at - start - 8, start + 4);
  target.writeUInt32BE(items, start + 8);
  return at;
}

function digits(value: number): number {
  return String(value).length;
}

function bytesOf(parts: readonly Buffer[]): number {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return bytes;
}
