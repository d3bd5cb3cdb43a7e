import type * as Rhea from 'rhea';
import type { BusOutcome } from './bus-clients.js';

/** The outcome of one delivery. */
export interface Disposition {
  readonly deliveryId: number;
  /** Encoded. */
  readonly state: Buffer;
}

/** The state of a completed message. */
const acceptedState = Buffer.from([0x00, 0x53, 0x24, 0x45]);

/** Around the state: frame header, descriptor, list header, role, first, last, settled. */
const overheadBytes = 8 + 3 + 9 + 1 + 5 + 5 + 1;

/**
 * Encodes frames for outcomes of a receiver, which waits for their confirmation. Completed neighbours share a frame: a batch
 * that completes is one.
 */
export function writeDispositions(channel: number, dispositions: readonly Disposition[]): Buffer {
  const sorted = dispositions.toSorted((a, b) => (a.deliveryId - b.deliveryId) | 0); // ids wrap around
  const frames: Buffer[] = [];
  for (let index = 0; index < sorted.length; ) {
    const first = sorted[index];
    if (!first) break;
    let count = 1;
    while (first.state === acceptedState && isNext(first, sorted[index + count], count)) count += 1;
    frames.push(frameOf(channel, first, (first.deliveryId + count - 1) >>> 0));
    index += count;
  }
  const [only] = frames;
  return frames.length === 1 && only ? only : Buffer.concat(frames);
}

function isNext(first: Disposition, other: Disposition | undefined, distance: number): boolean {
  return other?.state === acceptedState && other.deliveryId === (first.deliveryId + distance) >>> 0;
}

function frameOf(channel: number, { deliveryId, state }: Disposition, last: number): Buffer {
  const bytes = overheadBytes + state.length;
  const frame = Buffer.allocUnsafe(bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt32BE(0x0200_0000 + channel, 4);
  frame.writeUInt32BE(0x0053_15d0, 8); // a disposition, as a list with 32-bit sizes
  frame.writeUInt32BE(bytes - 16, 12);
  frame.writeUInt32BE(5, 16);
  frame[20] = 0x41; // of a receiver
  frame[21] = 0x70;
  frame.writeUInt32BE(deliveryId, 22);
  frame[26] = 0x70;
  frame.writeUInt32BE(last, 27);
  frame[31] = 0x42; // not settled: the service confirms first
  state.copy(frame, 32);
  return frame;
}

/** The service cuts longer texts. */
const longestReason = 4_096;

/** Parts of rhea that its types leave out. */
interface OutcomeCodec {
  readonly message: {
    modified(fields: object): { described(): unknown };
    rejected(fields: object): { described(): unknown };
  };
  readonly types: { readonly Writer: new () => { write(value: unknown): void; toBuffer(): Buffer } };
}

/** Encodes an outcome as the SDK does. */
export function encodeBusOutcome(rhea: typeof Rhea.default, outcome: BusOutcome): Buffer {
  if (outcome.kind === 'complete') return acceptedState;
  const { message, types } = rhea as unknown as OutcomeCodec; // see OutcomeCodec
  const writer = new types.Writer();
  writer.write(toState(message, outcome).described());
  return writer.toBuffer();
}

function toState(
  message: OutcomeCodec['message'],
  outcome: Exclude<BusOutcome, { kind: 'complete' }>,
): { described(): unknown } {
  const { kind, properties } = outcome;
  switch (kind) {
    case 'abandon':
    case 'defer':
      return message.modified({
        undeliverable_here: kind === 'defer',
        ...(properties && { message_annotations: { ...properties } }),
      });
    case 'deadLetter':
      return message.rejected({
        error: {
          condition: 'com.microsoft:dead-letter',
          info: {
            ...properties,
            DeadLetterReason: outcome.reason?.slice(0, longestReason),
            DeadLetterErrorDescription: outcome.description?.slice(0, longestReason),
          },
        },
      });
  }
}
