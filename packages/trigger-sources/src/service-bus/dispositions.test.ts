import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { encodeBusOutcome, writeDispositions } from './dispositions.js';

const accepted = encodeBusOutcome(rhea, { kind: 'complete' });
const abandoned = encodeBusOutcome(rhea, { kind: 'abandon', properties: { tries: 1 } });

interface ReadFrame {
  readonly channel: number;
  readonly role: unknown;
  readonly first: unknown;
  readonly last: unknown;
  readonly settled: unknown;
  readonly state: unknown;
}

/** Decodes frames with rhea. */
function read(bytes: Buffer): ReadFrame[] {
  const { Reader, unwrap } = rhea.types as unknown as {
    readonly Reader: new (bytes: Buffer) => { read(): { descriptor: { value: number }; value: unknown[] } };
    readonly unwrap: (value: unknown) => unknown;
  }; // its types leave the codec out
  const frames: ReadFrame[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const { descriptor, value } = new Reader(bytes.subarray(at + 8, at + bytes.readUInt32BE(at))).read();
    expect(descriptor.value).toBe(0x15);
    const [role, first, last, settled] = value.slice(0, 4).map(unwrap);
    const state = (value[4] as { descriptor: { value: unknown } }).descriptor.value;
    frames.push({ channel: bytes.readUInt16BE(at + 6), role, first, last, settled, state });
  }
  return frames;
}
const complete = (...ids: readonly number[]) => ids.map((deliveryId) => ({ deliveryId, state: accepted }));
const frame = (first: number, last: number, state = 0x24) => ({
  channel: 3,
  role: true,
  first,
  last,
  settled: false,
  state,
});

describe('outcomes of one turn', () => {
  it('share a frame if they complete neighbours', () => {
    expect(read(writeDispositions(3, complete(1, 2, 3, 5, 6, 9)))).toEqual([frame(1, 3), frame(5, 6), frame(9, 9)]);
  });

  it('may come in any order', () => {
    expect(read(writeDispositions(3, complete(12, 10, 11)))).toEqual([frame(10, 12)]);
  });

  it('are never merged with another outcome', () => {
    const mixed = [...complete(1), { deliveryId: 2, state: abandoned }, ...complete(3, 4)];
    expect(read(writeDispositions(3, mixed))).toEqual([frame(1, 1), frame(2, 2, 0x27), frame(3, 4)]);
    const twice = [2, 3].map((deliveryId) => ({ deliveryId, state: abandoned }));
    expect(read(writeDispositions(3, twice))).toEqual([frame(2, 2, 0x27), frame(3, 3, 0x27)]);
  });

  it('pass the largest delivery id', () => {
    expect(read(writeDispositions(3, complete(0, 0xffff_ffff, 1, 0xffff_fffe)))).toEqual([frame(0xffff_fffe, 1)]);
  });
});
