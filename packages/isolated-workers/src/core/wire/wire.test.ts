import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SerializationError, UnknownMessageError } from '../../types/errors.js';
import { hostileValues } from '../odd-values.test.fixture.js';
import { fromErrorData, sendError } from './error-data.js';
import { FrameStream } from './frame-stream.js';
import { kind, type WireMessage } from '../../types/wire-message.js';

/** As much of a socket as frames need; what is written stands in `written`. */
class Wire extends EventEmitter {
  readonly written: Buffer[] = [];
  readonly writableLength = 0;
  readonly writable = true;
  write(chunk: Buffer | string, ...rest: unknown[]): boolean {
    const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : 'utf8';
    this.written.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
    const done = rest.find((argument) => typeof argument === 'function') as (() => void) | undefined;
    done?.();
    return true;
  }
  cork(): void {}
  uncork(): void {}
  pause(): this {
    return this;
  }
  resume(): this {
    return this;
  }
}

function end(serializer?: {
  name: string;
  serialize(value: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}) {
  const wire = new Wire();
  const received: WireMessage[] = [];
  const garbage: Error[] = [];
  const frames = FrameStream.over(wire as unknown as Socket, {
    serializer,
    maxFrameBytes: 10_000_000,
    onMessage: (message) => void received.push(message),
    onMalformed: (error) => void garbage.push(error),
  });
  return { wire, received, garbage, frames };
}

/** Sends all, cuts the bytes where `cuts` says, and returns what comes out. */
function across(messages: readonly WireMessage[], cuts: readonly number[]): WireMessage[] {
  const from = end();
  for (const message of messages) from.frames.send(message);
  from.frames.flush();
  const bytes = Buffer.concat(from.wire.written);
  const to = end();
  const borders = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  let at = 0;
  for (const border of [...borders, bytes.length]) {
    if (border > at) to.wire.emit('data', Buffer.from(bytes.subarray(at, border)));
    at = Math.max(at, border);
  }
  expect(to.garbage).toEqual([]);
  return to.received;
}

const longText = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), fc.integer({ min: 300, max: 6_000 }))
  .map(([text, times]) => text.repeat(times));
const bytes = fc.uint8Array({ maxLength: 300 });
const plain = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    longText,
    bytes,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  ),
})).value;
const cloneable = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    plain,
    fc.constantFrom(undefined, Number.NaN, -0, Number.POSITIVE_INFINITY, null, true),
    fc.bigInt(),
    fc.date(),
    fc.float64Array({ maxLength: 5 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 3 }).map((entries) => new Set(entries)),
  ),
})).value;
const cuts = fc.array(fc.nat(), { maxLength: 8 });

describe('messages over a byte stream', () => {
  it.each([
    ['plain', plain],
    ['cloneable', cloneable],
  ])('carry any %s value, wherever the chunks are cut', (_, values) => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 4 }), cuts, (list, borders) => {
        const messages = list.map((value, id): WireMessage => [kind.request, id, 'echo', 0, value]);
        const expected = messages.map((message) => structuredClone(message));
        expect(across(messages, borders)).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });

  it('carry any type name and trace', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), cuts, (type, trace, borders) => {
        const message: WireMessage = [kind.request, 7, type, [1, trace, 3], 'x'.repeat(5_000)];
        expect(across([message], borders)).toEqual([message]);
      }),
    );
  });

  it('keep cycles and shared parts of what JSON cannot write', () => {
    const ring: Record<string, unknown> = { at: new Date(1) };
    ring['self'] = ring;
    const [message] = across([[kind.result, 1, ring]], [1, 2, 3]);
    const back = message?.[2] as typeof ring;
    expect(back['self']).toBe(back);
  });

  it('report malformed input, and never throw', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { maxLength: 6 }), (chunks) => {
        const to = end();
        for (const chunk of chunks) to.wire.emit('data', Buffer.from(chunk));
        expect(to.garbage.length).toBeLessThanOrEqual(1);
        for (const error of to.garbage) expect(error).toBeInstanceOf(SerializationError);
      }),
      { numRuns: 300 },
    );
  });

  it('report or survive any body behind a right header', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4 }), fc.uint8Array({ maxLength: 60 }), (format, body) => {
        const to = end();
        const header = Buffer.alloc(5);
        header.writeUInt32LE(body.length + 1, 0);
        header[4] = format;
        to.wire.emit('data', Buffer.concat([header, body]));
        for (const error of to.garbage) expect(error).toBeInstanceOf(SerializationError);
        expect(to.garbage.length + to.received.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 500 },
    );
  });

  it('do not let made-up places reach a prototype', () => {
    const text = Buffer.from(JSON.stringify([[kind.result, 1, {}], [[0, 3, ['__proto__', 'polluted']]]]));
    const frame = Buffer.alloc(9 + text.length + 3);
    frame.writeUInt32LE(frame.length - 4, 0);
    frame[4] = 1;
    frame.writeUInt32LE(text.length, 5);
    text.copy(frame, 9);
    frame.write('yes', 9 + text.length);
    const to = end();
    to.wire.emit('data', frame);
    expect('polluted' in {}).toBe(false);
    expect(to.garbage).toHaveLength(1);
  });

  it('refuse what cannot be cloned, and send nothing of it', () => {
    const from = end();
    for (const value of [() => 1, Symbol('s'), { deep: [() => 1] }, new WeakMap(), new SharedArrayBuffer(8)]) {
      expect(() => from.frames.send([kind.result, 1, value])).toThrow(SerializationError);
    }
    from.frames.flush();
    expect(from.wire.written).toEqual([]);
  });
});

/** Sends a thrown value as the drivers do: cloned. */
function received(thrown: unknown): Error {
  let error = new Error('nothing was sent');
  sendError(thrown, (data) => {
    error = fromErrorData(structuredClone(data));
  });
  return error;
}

describe('errors as data', () => {
  it('keep name, message, code and causes of any error', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.jsonValue(), fc.string(), (name, message, detail, causeText) => {
        const error = Object.assign(new Error(message, { cause: new TypeError(causeText) }), { code: 'E', detail });
        error.name = name;
        const back = received(error);
        expect(back).toMatchObject({ name, message, code: 'E' });
        expect((back as typeof error).detail).toEqual(detail);
        expect(back.cause).toBeInstanceOf(TypeError);
        expect(back.stack).toBe(error.stack);
      }),
    );
  });

  it.each(['SerializationError', 'UnknownMessageError', 'TypeError'])(
    'keep code, cause and properties of an error of the user that is named %s',
    (name) => {
      const error = Object.assign(new Error('mine', { cause: new Error('why') }), { code: 'E_MINE', line: 7, name });
      const back = received(error);
      expect(back).toMatchObject({ name, message: 'mine', code: 'E_MINE', line: 7, stack: error.stack });
      expect(back.cause).toMatchObject({ message: 'why' });
      expect(back).not.toBeInstanceOf(SerializationError);
    },
  );

  it('keep the class of the errors of this library, and their properties', () => {
    const error = Object.assign(new SerializationError('too large', { cause: new RangeError('why') }), { bytes: 7 });
    const back = received(error);
    expect(back).toBeInstanceOf(SerializationError);
    expect(back).toMatchObject({ code: 'ERR_SERIALIZATION', bytes: 7, stack: error.stack });
    expect(back.cause).toBeInstanceOf(RangeError);
    expect(received(new UnknownMessageError('none'))).toBeInstanceOf(UnknownMessageError);
  });

  it('have texts instead of values that the serializer refuses, and are not lost with them', () => {
    const error = Object.assign(new TypeError('bad', { cause: new Error('why') }), { code: 'E', count: 1n, at: [1] });
    let back = new Error('nothing was sent');
    sendError(error, (data) => {
      back = fromErrorData(JSON.parse(JSON.stringify(data)));
    });
    expect(back).toBeInstanceOf(TypeError);
    expect(back).toMatchObject({ message: 'bad', code: 'E', count: '1', at: '[1]', cause: { message: 'why' } });
  });

  it('never throw, whatever their properties do', () => {
    const trap = (): never => {
      throw new Error('sprung');
    };
    const names = ['name', 'message', 'stack', 'cause', 'errors', 'code'];
    const trapped = names.map((name) =>
      Object.defineProperty(new AggregateError([]), name, { get: trap, enumerable: true }),
    );
    const odd = names.map((name) => Object.defineProperty(new AggregateError([]), name, { value: Symbol('odd') }));
    const traps = { get: trap, has: trap, ownKeys: trap, getOwnPropertyDescriptor: trap };
    for (const thrown of [...trapped, ...odd, new Proxy(new Error('inside'), traps), ...Object.values(hostileValues)])
      expect(received(thrown)).toBeInstanceOf(Error);
  });

  it('make an error of anything that is thrown', () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        const back = received(thrown);
        expect(back).toBeInstanceOf(Error);
      }),
    );
  });

  it('do not run in circles with an error that is its own cause', () => {
    const error = new Error('round');
    error.cause = error;
    expect(received(error).message).toBe('round');
  });
});
