import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../codec/protocol-error.js';
import { writeStreamingMessage } from '../generated/streaming-message-write.js';
import { decodeStreamingMessage, encodeStreamingMessage } from '../streaming-messages.js';
import { invocationRequest, message } from '../testing/messages.js';
import { FrameParser } from './frame-parser.js';
import { Outbox } from './outbox.js';

/** A socket that takes one write at a time, when the test says so. */
class SlowSink extends Writable {
  readonly writes: Buffer[] = [];
  readonly #pending: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.writes.push(Buffer.from(chunk));
    this.#pending.push(done);
  }

  async takeOne(): Promise<void> {
    this.#pending.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  get ids(): string[] {
    const parser = new FrameParser(1e9);
    return this.writes.flatMap((chunk) => {
      const found: string[] = [];
      parser.push(chunk);
      while (parser.next()) {
        const { kind, value } = decodeStreamingMessage(parser.buffer.subarray(parser.start, parser.end));
        found.push(kind === 'invocationRequest' ? value.invocationId : String(kind));
      }
      return found;
    });
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Outbox', () => {
  it('writes all messages of one turn in one piece and in order', async () => {
    const sink = new SlowSink();
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1e6, onRoom: () => undefined });
    for (let index = 0; index < 20; index++) outbox.add(invocationRequest(`id-${index}`));
    expect(sink.writes.length).toBe(0);
    await turn();
    expect(sink.writes.length).toBe(1);
    expect(sink.ids).toEqual(Array.from({ length: 20 }, (_, index) => `id-${index}`));
  });

  it('does not wait for the end of the turn when a batch has grown large', () => {
    const sink = new SlowSink();
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1e9, onRoom: () => undefined });
    outbox.add(invocationRequest('large', { bytes: Buffer.alloc(300_000) }));
    expect(sink.writes.length).toBe(1);
  });

  it('never writes over what the socket still holds', async () => {
    const sink = new SlowSink();
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1e9, onRoom: () => undefined });
    const sent: string[] = [];
    for (let round = 0; round < 50; round++) {
      for (let index = 0; index < 3; index++) {
        sent.push(`${round}-${index}`);
        outbox.add(invocationRequest(`${round}-${index}`, { string: 'x'.repeat(round * 100) }));
      }
      if (round % 3 === 0) await sink.takeOne();
      else await turn();
    }
    while (outbox.queuedBytes > 0) await sink.takeOne();
    expect(sink.ids).toEqual(sent);
  });

  it('leaves out a message that cannot be encoded, and only that one', async () => {
    const sink = new SlowSink();
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1e6, onRoom: () => undefined });
    outbox.add(invocationRequest('before'));
    const { queuedBytes } = outbox;
    expect(() => outbox.add(invocationRequest('bad', { int: 0.5 }))).toThrow(ProtocolError);
    expect(() => outbox.add(message('rpcLog', { message: 5 as unknown as string }))).toThrow(
      'expected a string, got a number',
    );
    expect(outbox.queuedBytes).toBe(queuedBytes);
    outbox.add(invocationRequest('after'));
    await turn();
    expect(sink.ids).toEqual(['before', 'after']);
  });

  it('is full from the given size until half of it is sent, and reports that once', async () => {
    const sink = new SlowSink();
    let rooms = 0;
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1_000, onRoom: () => rooms++ });
    for (let index = 0; index < 4; index++) {
      outbox.add(invocationRequest(`id-${index}`, { string: 'x'.repeat(300) }));
      outbox.flush();
    }
    expect(outbox.isFull).toBe(true);
    await sink.takeOne();
    await sink.takeOne();
    expect([outbox.isFull, rooms]).toEqual([true, 0]);
    await sink.takeOne();
    expect([outbox.isFull, rooms]).toEqual([false, 1]);
    await sink.takeOne();
    expect([outbox.queuedBytes, rooms]).toEqual([0, 1]);
  });

  it('sends encoded messages', async () => {
    const sink = new SlowSink();
    const outbox = new Outbox(sink, { write: writeStreamingMessage, fullBytes: 1e6, onRoom: () => undefined });
    outbox.addEncoded(encodeStreamingMessage(invocationRequest('encoded')));
    await turn();
    expect(sink.ids).toEqual(['encoded']);
  });
});
