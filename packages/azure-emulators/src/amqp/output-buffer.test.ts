import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { OutputBuffer } from './output-buffer.js';

/** Records what reaches the socket: one entry per write. */
function recordingSocket(): { socket: Socket; writes: Buffer[] } {
  const writes: Buffer[] = [];
  const socket = {
    writable: true,
    writableLength: 0,
    write: (chunk: Buffer) => {
      writes.push(Buffer.from(chunk));
      return true;
    },
    end: () => undefined,
  };
  return { socket: socket as unknown as Socket, writes };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const emptyFrame = Buffer.from([0, 0, 0, 8, 2, 0, 0, 0]);

describe('OutputBuffer', () => {
  it('writes the frames of one turn together and in order, small and large', async () => {
    const { socket, writes } = recordingSocket();
    const out = new OutputBuffer(socket, () => true);
    const large = Buffer.alloc(10_000, 2);
    out.append(Buffer.from([1, 1]));
    socket.write(Buffer.from([1, 2]));
    out.append(large);
    out.append(Buffer.from([3]));
    await nextTurn();
    expect(writes.length).toBe(3);
    expect(Buffer.concat(writes)).toEqual(Buffer.concat([Buffer.from([1, 1, 1, 2]), large, Buffer.from([3])]));
  });

  it('never reuses bytes that were handed to the socket', async () => {
    const { socket } = recordingSocket();
    const kept: Buffer[] = [];
    socket.write = (chunk: Buffer) => kept.push(chunk) > 0;
    const out = new OutputBuffer(socket, () => true);
    for (let i = 0; i < 300; i += 1) {
      out.append(Buffer.alloc(1000, i % 251));
      if (i % 7 === 0) await nextTurn();
    }
    await nextTurn();
    const all = Buffer.concat(kept);
    expect(all.length).toBe(300_000);
    for (let i = 0; i < 300; i += 1) expect(all[i * 1000 + 999]).toBe(i % 251);
  });

  it('answers a small chunk with one empty frame when nothing else was written', async () => {
    const { socket, writes } = recordingSocket();
    const out = new OutputBuffer(socket, () => true);
    out.noteInput(40);
    out.noteInput(40);
    await nextTurn();
    expect(writes).toEqual([emptyFrame]);
    out.noteInput(40);
    out.append(Buffer.from([7]));
    await nextTurn();
    out.noteInput(60_000);
    await nextTurn();
    expect(writes).toEqual([emptyFrame, Buffer.from([7])]);
  });

  it('writes no empty frame before the connection is open', async () => {
    const { socket, writes } = recordingSocket();
    const out = new OutputBuffer(socket, () => false);
    out.noteInput(40);
    await nextTurn();
    expect(writes).toEqual([]);
  });

  it('flushes before the socket ends', () => {
    const { socket, writes } = recordingSocket();
    const out = new OutputBuffer(socket, () => true);
    out.append(Buffer.from([9]));
    socket.end();
    expect(writes).toEqual([Buffer.from([9])]);
  });
});
