import rhea, { type Typed } from 'rhea';
import type { AmqpError, DeliveryOutcome } from './amqp-service.js';
import type { OutputBuffer } from './output-buffer.js';
import { rheaError } from './rhea-endpoints.js';
import { encodeValue, plainValue } from './values.js';

/** Frames of the hot path, written by hand: rhea's general encoder takes several times as long per transfer. */

/** One frame of a delivery. */
export interface TransferFrame {
  readonly handle: number;
  readonly deliveryId: number;
  /** Undefined: the delivery id in 4 bytes. */
  readonly tag: Buffer | undefined;
  readonly settled: boolean;
  readonly payload: Buffer | readonly Buffer[];
  /** Another frame of the same delivery follows. */
  readonly more: boolean;
}

/** rcv-settle-mode, state, resume, aborted and batchable: written although they have defaults, see `completeFrame`. */
const transferTail = Buffer.from([0x40, 0x40, 0x42, 0x42, 0x42]);
/** Frame header, descriptor and list header, then handle 5, id 5, tag 2, format 1, settled 1, more 1 and the tail. */
const transferHeadBytes = 8 + 3 + 3 + 5 + 5 + 2 + 1 + 1 + 1 + transferTail.length;
/** Larger payloads are handed to the socket as they are. */
const copyBelowBytes = 8 * 1024;

/** Bytes of a transfer frame around its payload. */
export function transferOverhead(tag: Buffer | undefined): number {
  return transferHeadBytes + (tag?.length ?? 4);
}

export function payloadBytes(payload: Buffer | readonly Buffer[]): number {
  if (Buffer.isBuffer(payload)) return payload.length;
  let bytes = 0;
  for (const part of payload) bytes += part.length;
  return bytes;
}

export function writeTransfer(out: OutputBuffer, channel: number, frame: TransferFrame): void {
  const { tag, payload } = frame;
  const bytes = payloadBytes(payload);
  const headBytes = transferOverhead(tag);
  const small = bytes < copyBelowBytes;
  let at = out.reserve(small ? headBytes + bytes : headBytes);
  const target = out.target;
  target.writeUInt32BE(headBytes + bytes, at);
  target.writeUInt32BE(0x02000000 + channel, at + 4);
  target[at + 8] = 0x00;
  target[at + 9] = 0x53;
  target[at + 10] = 0x14;
  target[at + 11] = 0xc0;
  target[at + 12] = headBytes - 13;
  target[at + 13] = 11;
  target[at + 14] = 0x70;
  target.writeUInt32BE(frame.handle, at + 15);
  target[at + 19] = 0x70;
  target.writeUInt32BE(frame.deliveryId, at + 20);
  target[at + 24] = 0xa0;
  target[at + 25] = tag?.length ?? 4;
  at += 26;
  if (tag) at += tag.copy(target, at);
  else at = target.writeUInt32BE(frame.deliveryId, at);
  target[at] = 0x43; // message format 0
  target[at + 1] = frame.settled ? 0x41 : 0x42;
  target[at + 2] = frame.more ? 0x41 : 0x42;
  at += 3;
  at += transferTail.copy(target, at);
  for (const part of Buffer.isBuffer(payload) ? [payload] : payload) {
    if (small) at += part.copy(target, at);
    else out.append(part);
  }
}

/** Writes one disposition for the deliveries first..last. `asReceiver`: we received them; otherwise we sent them. */
export function writeDisposition(
  out: OutputBuffer,
  disposition: {
    readonly channel: number;
    readonly asReceiver: boolean;
    readonly first: number;
    readonly last: number;
    readonly state: Buffer;
  },
): void {
  const { state } = disposition;
  const fieldBytes = 1 + 5 + 5 + 1 + state.length + 1;
  const bytes = 8 + 3 + 9 + fieldBytes;
  const frame = Buffer.allocUnsafe(bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt32BE(0x02000000 + disposition.channel, 4);
  frame[8] = 0x00;
  frame[9] = 0x53;
  frame[10] = 0x15;
  frame[11] = 0xd0;
  frame.writeUInt32BE(fieldBytes + 4, 12);
  frame.writeUInt32BE(6, 16);
  frame[20] = disposition.asReceiver ? 0x41 : 0x42;
  frame[21] = 0x70;
  frame.writeUInt32BE(disposition.first, 22);
  frame[26] = 0x70;
  frame.writeUInt32BE(disposition.last, 27);
  frame[31] = 0x41; // settled
  state.copy(frame, 32);
  frame[bytes - 1] = 0x42; // batchable
  out.append(frame);
}

export const acceptedState = Buffer.from([0x00, 0x53, 0x24, 0x45]);
const releasedState = Buffer.from([0x00, 0x53, 0x26, 0x45]);
const rejectedState = Buffer.from([0x00, 0x53, 0x25, 0x45]);

interface OutcomeFactories {
  rejected(fields: { error: unknown }): { described(): unknown };
  modified(fields: object): { described(): unknown };
  unwrap_outcome(state: Typed): unknown;
}

// The typings of rhea leave out the outcomes of its message module.
const outcomes = rhea.message as unknown as OutcomeFactories;

export function encodeOutcome(outcome: DeliveryOutcome): Buffer {
  switch (outcome.kind) {
    case 'accepted':
      return acceptedState;
    case 'released':
      return releasedState;
    case 'rejected':
      return outcome.error
        ? encodeValue(outcomes.rejected({ error: rheaError(outcome.error) }).described())
        : rejectedState;
    case 'modified':
      return encodeValue(
        outcomes
          .modified({
            delivery_failed: outcome.deliveryFailed,
            undeliverable_here: outcome.undeliverableHere,
            message_annotations: outcome.annotations,
          })
          .described(),
      );
  }
}

const outcomeKinds = new Map<unknown, DeliveryOutcome['kind']>([
  [0x24, 'accepted'],
  ['amqp:accepted:list', 'accepted'],
  [0x25, 'rejected'],
  ['amqp:rejected:list', 'rejected'],
  [0x26, 'released'],
  ['amqp:released:list', 'released'],
  [0x27, 'modified'],
  ['amqp:modified:list', 'modified'],
]);

/** Returns undefined for a state that is no outcome: none, `received`, or a transactional state, which the server never grants. */
export function decodeOutcome(state: Typed | null | undefined): DeliveryOutcome | undefined {
  const descriptor: unknown = (state as { descriptor?: unknown } | null | undefined)?.descriptor;
  const kind = outcomeKinds.get(plainValue(descriptor));
  if (kind === undefined || !state) return undefined;
  if (kind === 'accepted' || kind === 'released') return { kind };
  const fields = outcomes.unwrap_outcome(state);
  if (kind === 'rejected') {
    const { error } = fields as { error?: Partial<AmqpError> | null };
    if (!error) return { kind };
    const { condition, description, info } = error;
    return {
      kind,
      error: { condition: condition ?? '', description: description ?? '', ...(info ? { info } : {}) },
    };
  }
  const modified = fields as {
    delivery_failed?: boolean | null;
    undeliverable_here?: boolean | null;
    message_annotations?: Record<string, unknown> | null;
  };
  return {
    kind,
    deliveryFailed: modified.delivery_failed === true,
    undeliverableHere: modified.undeliverable_here === true,
    annotations: modified.message_annotations ?? {},
  };
}
