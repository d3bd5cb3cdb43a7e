import { describe, expect, it } from 'vitest';
import { encodeMessage, textFrameBytes, writeText } from './frame-codec.js';
import { FrameReader } from './frame-reader.js';
import { kind, type WireMessage } from '../../types/wire-message.js';

const values: unknown[] = [
  null,
  { id: 7, name: 'tiny' },
  'é'.repeat(5_000),
  { rows: [{ text: 'x'.repeat(5_000), more: ['y'.repeat(6_000)] }], bytes: new Uint8Array([1, 2, 3]) },
  new Map([['when', new Date(0)]]),
  [Number.NaN, -0, undefined],
];
const messages = values.map((value, id): WireMessage => [kind.result, id, value]);

function toBytes(message: WireMessage): Buffer {
  const encoded = encodeMessage(message, undefined);
  if (typeof encoded !== 'string') return Buffer.concat(encoded);
  const frame = Buffer.alloc(textFrameBytes + Buffer.byteLength(encoded));
  return frame.subarray(0, writeText(encoded, frame, 0));
}

function open(): { readonly reader: FrameReader; readonly read: WireMessage[]; readonly garbage: Error[] } {
  const read: WireMessage[] = [];
  const garbage: Error[] = [];
  const reader = new FrameReader({
    serializer: undefined,
    maxFrameBytes: 1_000_000,
    onMessage: (message) => read.push(message),
    onMalformed: (error) => garbage.push(error),
  });
  return { reader, read, garbage };
}

describe('the frame reader', () => {
  const bytes = Buffer.concat(messages.map((message) => toBytes(message)));

  it.each([1, 3, 7, 1_000, 100_000])('returns every message when it arrives in parts of %i bytes', (size) => {
    const { reader, read } = open();
    // Always the same buffer, as a socket uses it.
    const shared = Buffer.alloc(size);
    for (let at = 0; at < bytes.length; at += size) {
      const count = bytes.copy(shared, 0, at, at + size);
      reader.read(shared, count);
    }
    shared.fill(0);
    expect(read).toEqual(messages);
  });

  it('accepts bytes that were read into its own buffer, in place or not', () => {
    const large: WireMessage = [kind.result, 1, 'z'.repeat(900_000)];
    const { reader, read } = open();
    const all = Buffer.concat([toBytes(large), bytes]);
    for (let at = 0; at < all.length; ) {
      const room = reader.room();
      const count = all.copy(room, 0, at, Math.min(all.length, at + room.length, at + 100_001));
      reader.read(room, count);
      at += count;
    }
    expect(read).toEqual([large, ...messages]);
  });

  it('reports malformed input once, and reads nothing after it', () => {
    const { reader, read, garbage } = open();
    const nonsense = Buffer.from([2, 0, 0, 0, 99, 0]);
    reader.read(Buffer.concat([nonsense, bytes]), nonsense.length + bytes.length);
    reader.read(bytes, bytes.length);
    expect(garbage).toHaveLength(1);
    expect(read).toEqual([]);
  });
});
