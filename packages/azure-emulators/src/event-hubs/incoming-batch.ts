import { encodeSymbol, variableBytes } from '../amqp/amqp-bytes.js';
import { batchFormat, readMapSection, splitAnnotations, splitBatch } from '../amqp/message-sections.js';
import { decodeValue, integerOf } from '../amqp/values.js';
import type { IncomingEvent } from './stored-events.js';

/** What one transfer of a producer holds. */
export interface IncomingBatch {
  readonly events: readonly IncomingEvent[];
  readonly partitionKey: { readonly text: string; readonly encoded: Buffer } | undefined;
  /** Of the first event, when an idempotent producer sent it. */
  readonly firstProducerSequence: number | undefined;
}

const partitionKeyAnnotation = 'x-opt-partition-key';
const producerSequenceAnnotation = 'com.microsoft:producer-sequence-number';
/** Set by the service, or meant for it alone. */
const ownAnnotations = new Set([
  partitionKeyAnnotation,
  'x-opt-sequence-number',
  'x-opt-offset',
  'x-opt-enqueued-time',
  producerSequenceAnnotation,
  'com.microsoft:producer-epoch',
  'com.microsoft:producer-id',
]);
const none: readonly Buffer[] = [];

/** Reads a transfer: one message, or an envelope of many. Throws `MalformedMessage`. */
export function readIncomingBatch(payload: Buffer, format: number): IncomingBatch {
  const envelope = readMapSection(splitAnnotations(payload).messageAnnotations);
  const messages = format === batchFormat ? splitBatch(payload) : [payload];
  let key = envelope.get(partitionKeyAnnotation);
  let firstProducerSequence: number | undefined;
  const events = messages.map((message, index): IncomingEvent => {
    const { messageAnnotations, bare } = splitAnnotations(message);
    if (!messageAnnotations) return { bare, annotations: none };
    const annotations = readMapSection(messageAnnotations);
    if (index === 0) {
      key ??= annotations.get(partitionKeyAnnotation);
      const sequence = annotations.get(producerSequenceAnnotation);
      firstProducerSequence = sequence && integerOf(decodeValue(sequence));
    }
    return { bare, annotations: foreignItems(annotations) };
  });
  const text = key && variableBytes(key)?.toString();
  return {
    events,
    partitionKey: key && text !== undefined ? { text, encoded: key } : undefined,
    firstProducerSequence,
  };
}

function foreignItems(annotations: ReadonlyMap<string, Buffer>): readonly Buffer[] {
  const items: Buffer[] = [];
  for (const [key, value] of annotations) {
    if (!ownAnnotations.has(key)) items.push(encodeSymbol(key), value);
  }
  return items;
}
