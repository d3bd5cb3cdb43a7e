import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { CallFrameReader, CallFrameWriter } from './frames.js';

interface Frame {
  readonly id: number;
  readonly text: string | undefined;
}

/** Reads frames, and copies what it is shown. */
class Collected {
  readonly frames: Frame[] = [];
  readonly reader: CallFrameReader;

  constructor(maxBytes = 1_000_000) {
    this.reader = new CallFrameReader(maxBytes, {
      frame: (id, bytes) => this.frames.push({ id, text: bytes.toString('utf8') }),
      tooLarge: (id) => this.frames.push({ id, text: undefined }),
    });
  }
}

/** Collects what is written; a write is one entry. */
function recorder(): { readonly socket: Socket; readonly writes: Buffer[] } {
  const writes: Buffer[] = [];
  const socket = {
    writable: true,
    cork: () => undefined,
    uncork: () => undefined,
    write: (bytes: string | Buffer) => writes.push(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
  };
  return { socket: socket as unknown as Socket, writes }; // all that the writer uses
}

/** A sequence that is the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const bodies = [undefined, '', 'ascii', 'ä€😀', 'x'.repeat(300), Buffer.from('bytes ä'), Buffer.alloc(20_000, 'y')];

describe('frames', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('are read as they were written, however the bytes are split (%d)', async (seed) => {
    const below = numbers(seed);
    const { socket, writes } = recorder();
    const writer = new CallFrameWriter(socket);
    const expected: Frame[] = [];
    for (let count = 0; count < 200; count += 1) {
      const id = below(3) === 0 ? 0xffff_ffff - count : count;
      const body = bodies[below(bodies.length)];
      const head = below(3) === 0 ? '' : `h${'é'.repeat(below(20))}`;
      writer.write(id, head, body, body === undefined ? 0 : Buffer.byteLength(body));
      const bytes = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body ?? '')]);
      expected.push({ id, text: bytes.toString('utf8') });
      if (below(10) === 0) await nextTurn();
    }
    await nextTurn();
    const stream = Buffer.concat(writes);
    const collected = new Collected();
    for (let at = 0; at < stream.length; ) {
      const next = Math.min(stream.length, at + 1 + below(below(2) === 0 ? 12 : 40_000));
      // The buffer is used again for the next read, as that of a socket.
      const piece = Buffer.from(stream.subarray(at, next));
      collected.reader.read(piece);
      piece.fill(0);
      at = next;
    }
    expect(collected.frames).toEqual(expected);
  });

  it('of one turn of the event loop go out in one write', async () => {
    const { socket, writes } = recorder();
    const writer = new CallFrameWriter(socket);
    for (let id = 1; id <= 50; id += 1) writer.write(id, 'head', 'body', 4);
    expect(writes).toHaveLength(0);
    await nextTurn();
    expect(writes).toHaveLength(1);
    for (let id = 1; id <= 50; id += 1) writer.write(id, '', 'x'.repeat(4_000), 4_000);
    expect(writes.length).toBeGreaterThan(2); // not held back without bound
    await nextTurn();
    const collected = new Collected();
    collected.reader.read(Buffer.concat(writes));
    expect(collected.frames).toHaveLength(100);
  });

  it.each([1, 7, 1_000])('that are too large are skipped, in pieces of %d bytes', async (size) => {
    const { socket, writes } = recorder();
    const writer = new CallFrameWriter(socket);
    writer.write(1, '', 'small', 5);
    writer.write(2, '', 'x'.repeat(101), 101);
    writer.write(3, '', 'y'.repeat(100), 100);
    writer.writeEmpty(4);
    await nextTurn();
    const stream = Buffer.concat(writes);
    const { frames, reader } = new Collected(100);
    for (let at = 0; at < stream.length; at += size) reader.read(stream.subarray(at, at + size));
    expect(frames).toEqual([
      { id: 1, text: 'small' },
      { id: 2, text: undefined },
      { id: 3, text: 'y'.repeat(100) },
      { id: 4, text: '' },
    ]);
  });
});
