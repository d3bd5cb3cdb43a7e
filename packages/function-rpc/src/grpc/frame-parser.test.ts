import { describe, expect, it } from 'vitest';
import { FrameParser } from './frame-parser.js';
import { GrpcStatus } from './grpc-status.js';

function frame(payload: Buffer | string, flag = 0): Buffer {
  const body = Buffer.from(payload);
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

function drain(parser: FrameParser): string[] {
  const found: string[] = [];
  while (parser.next()) found.push(parser.buffer.toString('utf8', parser.start, parser.end));
  return found;
}

function parseAll(chunks: readonly Buffer[], parser = new FrameParser(1_000_000)): string[] {
  return chunks.flatMap((chunk) => {
    parser.push(chunk);
    return drain(parser);
  });
}

const messages = ['', 'a', 'second', '', 'the fourth is longer than the others', 'last'];
const stream = Buffer.concat(messages.map((text) => frame(text)));

describe('FrameParser', () => {
  it('finds many messages in one chunk', () => {
    expect(parseAll([stream])).toEqual(messages);
  });

  it('finds the same messages wherever the stream is cut in two', () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(parseAll([stream.subarray(0, at), stream.subarray(at)])).toEqual(messages);
    }
  });

  it('finds them byte by byte, and in chunks of every size', () => {
    for (let size = 1; size <= stream.length; size++) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) chunks.push(stream.subarray(at, at + size));
      expect(parseAll(chunks)).toEqual(messages);
    }
  });

  it('does not copy a message that lies within a chunk', () => {
    const parser = new FrameParser(1_000);
    parser.push(stream);
    parser.next();
    parser.next();
    expect(parser.buffer).toBe(stream);
  });

  it('keeps unread bytes when the next chunk arrives', () => {
    const parser = new FrameParser(1_000);
    parser.push(stream);
    expect(parser.next()).toBe(true);
    parser.push(frame('added'));
    expect(drain(parser)).toEqual([...messages.slice(1), 'added']);
  });

  it('accepts a message of exactly the limit and refuses one byte more, before it has arrived', () => {
    const parser = new FrameParser(10);
    expect(parseAll([frame('x'.repeat(10))], parser)).toEqual(['x'.repeat(10)]);
    parser.push(frame('x'.repeat(11)).subarray(0, 5));
    expect(() => parser.next()).toThrow(expect.objectContaining({ grpcStatus: GrpcStatus.RESOURCE_EXHAUSTED }));
  });

  it('applies a new limit from the next message on', () => {
    const parser = new FrameParser(5);
    parser.push(Buffer.concat([frame('small'), frame('no longer too long')]));
    expect(parser.next()).toBe(true);
    parser.maxMessageBytes = 100;
    expect(drain(parser)).toEqual(['no longer too long']);
  });

  it('refuses compressed messages as unimplemented', () => {
    const parser = new FrameParser(100);
    parser.push(frame('x', 1));
    expect(() => parser.next()).toThrow(expect.objectContaining({ grpcStatus: GrpcStatus.UNIMPLEMENTED }));
  });

  it('allocates by what arrives, not by what is claimed', () => {
    const parser = new FrameParser(0xffff_ffff);
    const before = process.memoryUsage().arrayBuffers;
    const prefix = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]);
    parser.push(prefix);
    expect(parser.next()).toBe(false);
    parser.push(Buffer.alloc(100));
    expect(parser.next()).toBe(false);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
    expect(parser.isWithinMessage).toBe(true);
  });

  it('gathers a large message from small chunks in time that grows with its size', () => {
    const payload = Buffer.alloc(8_000_000, 'x');
    const whole = frame(payload);
    const parser = new FrameParser(10_000_000);
    let found = 0;
    for (let at = 0; at < whole.length; at += 1_000) {
      parser.push(whole.subarray(at, at + 1_000));
      while (parser.next()) found = parser.end - parser.start;
    }
    expect(found).toBe(payload.length);
    expect(parser.buffer.buffer.byteLength).toBe(payload.length);
    expect(parser.isWithinMessage).toBe(false);
  });
});
