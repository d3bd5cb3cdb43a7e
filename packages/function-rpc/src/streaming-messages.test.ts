import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from './codec/protocol-error.js';
import { arbitraryMessage } from './codec/every-message.test.fixture.js';
import type { StreamingMessageInit } from './generated/streaming-message.js';
import { decodeStreamingMessage, encodeStreamingMessage } from './streaming-messages.js';
import { invocationRequest, message } from './testing/messages.js';

const seed = 20_230_701;

/** What comes of decoding: a message, or what was thrown. */
function outcomeOf(bytes: Uint8Array): unknown {
  try {
    return decodeStreamingMessage(bytes);
  } catch (error) {
    return error;
  }
}

function expectSurvival(bytes: Uint8Array): void {
  const outcome = outcomeOf(bytes);
  if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProtocolError);
}

const nested = (levels: number): Buffer => {
  let data: Buffer = Buffer.alloc(0);
  // TypedData.http and RpcHttp.body, in turn
  for (let level = 0; level < levels; level++) data = delimited(level % 2 === 0 ? 0x22 : 0x2a, data);
  return delimited(0x2a, delimited(0x22, data)); // invocation_response.return_value
};

function delimited(tag: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

describe('what is left out', () => {
  it('has its default, and lists and maps are there', () => {
    const { kind, value } = decodeStreamingMessage(encodeStreamingMessage({ kind: 'invocationRequest', value: {} }));
    expect(kind).toBe('invocationRequest');
    expect(value).toEqual({
      invocationId: '',
      functionId: '',
      inputData: [],
      triggerMetadata: {},
      traceContext: undefined,
      retryContext: undefined,
    });
  });

  it('may also be null or undefined', () => {
    const bytes = encodeStreamingMessage(
      message('invocationResponse', { invocationId: 'i', outputData: null, returnValue: null, result: undefined }),
    );
    expect(bytes).toEqual(encodeStreamingMessage(message('invocationResponse', { invocationId: 'i' })));
  });

  it('differs from an empty value where the protocol can express it: a TypedData of no text is not null', () => {
    const empty = decodeStreamingMessage(encodeStreamingMessage(invocationRequest('i', { string: '' })));
    const none = decodeStreamingMessage(encodeStreamingMessage(invocationRequest('i', {})));
    expect(empty.kind === 'invocationRequest' && empty.value.inputData[0]?.data).toEqual({ string: '' });
    expect(none.kind === 'invocationRequest' && none.value.inputData[0]?.data).toEqual({});
  });
});

describe('what is unknown', () => {
  it('is passed over: fields of every wire type, and a content that is newer than we are', () => {
    const known = encodeStreamingMessage(message('startStream', { workerId: 'w' }, 'r'));
    const unknown = Buffer.concat([
      Buffer.from([0x98, 0x06, 0x96, 0x01]), // field 99, varint
      Buffer.from([0x99, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]), // fixed64
      Buffer.from([0x9a, 0x06, 3, 1, 2, 3]), // delimited
      Buffer.from([0x9d, 0x06, 1, 2, 3, 4]), // fixed32
    ]);
    expect(decodeStreamingMessage(Buffer.concat([unknown, known, unknown]))).toEqual({
      requestId: 'r',
      kind: 'startStream',
      value: { workerId: 'w' },
    });
    expect(decodeStreamingMessage(unknown)).toEqual({ requestId: '', kind: undefined, value: undefined });
  });

  it('is kept when it is only a new value of an enumeration', () => {
    const bytes = encodeStreamingMessage(message('rpcLog', { level: 77 }));
    const read = decodeStreamingMessage(bytes);
    expect(read.kind === 'rpcLog' && read.value.level).toBe(77);
  });
});

describe('keys from the network', () => {
  it('cannot reach the prototype of anything', () => {
    const triggerMetadata = Object.fromEntries([
      ['__proto__', { string: 'polluted' }],
      ['constructor', { string: 'c' }],
    ]);
    Object.defineProperty(triggerMetadata, '__proto__', { value: { string: 'polluted' }, enumerable: true });
    const read = decodeStreamingMessage(encodeStreamingMessage(message('invocationRequest', { triggerMetadata })));
    if (read.kind !== 'invocationRequest') return expect.unreachable();
    expect(Object.keys(read.value.triggerMetadata).toSorted()).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['string']).toBeUndefined();
    expect(read.value.triggerMetadata['toString']).toBeUndefined();
  });
});

describe('lists of numbers', () => {
  it('are read packed and one by one', () => {
    const double = (value: number): Buffer => {
      const buffer = Buffer.alloc(8);
      buffer.writeDoubleLE(value);
      return buffer;
    };
    const packed = delimited(0x0a, Buffer.concat([double(1.5), double(2)]));
    const single = Buffer.concat([Buffer.from([0x09]), double(3), Buffer.from([0x09]), double(-0)]);
    const data = delimited(0x52, Buffer.concat([packed, single])); // TypedData.collection_double
    const read = decodeStreamingMessage(delimited(0x2a, delimited(0x22, data)));
    expect(read.kind === 'invocationResponse' && read.value.returnValue).toEqual({
      collectionDouble: { double: [1.5, 2, 3, -0] },
    });
  });
});

describe('malformed messages', () => {
  it.each([
    ['a field of number 0', Buffer.from([0x00, 0x01])],
    ['a group', Buffer.from([0x9b, 0x06, 0x9c, 0x06])],
    ['a wire type that does not exist', Buffer.from([0x9f, 0x06])],
    ['a known field with another wire type', Buffer.from([0x08, 0x01])],
    ['a nested message that ends too late', Buffer.from([0x2a, 0x7f, 0x0a])],
    ['a field that runs over the end of its message', Buffer.from([0x2a, 0x02, 0x0a, 0x05, 1, 2, 3, 4, 5])],
    ['an unknown field that is cut off', Buffer.from([0x99, 0x06, 1, 2])],
  ])('are refused with a sentence: %s', (_, bytes) => {
    expect(() => decodeStreamingMessage(bytes)).toThrow(ProtocolError);
  });

  it('are refused at a hundred levels, and read before', () => {
    expect(() => decodeStreamingMessage(nested(97))).not.toThrow();
    expect(() => decodeStreamingMessage(nested(98))).toThrow('nested more than 100 deep');
    expect(() => decodeStreamingMessage(nested(20_000))).toThrow(ProtocolError);
  });

  it('never do worse than that: random bytes', () => {
    expect.hasAssertions();
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), expectSurvival), { numRuns: 3_000, seed });
  });

  it('never do worse than that: messages with bytes changed, cut off and repeated', () => {
    expect.hasAssertions();
    const mutation = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.nat(), repeat: fc.boolean() });
    fc.assert(
      fc.property(
        arbitraryMessage('StreamingMessage'),
        fc.array(mutation, { minLength: 1, maxLength: 5 }),
        (plain, all) => {
          let bytes = encodeStreamingMessage(plain as unknown as StreamingMessageInit);
          for (const { at, byte, cut, repeat } of all) {
            if (bytes.length === 0) return;
            bytes[at % bytes.length] = byte;
            if (cut % 3 === 0) bytes = bytes.subarray(0, cut % bytes.length);
            if (repeat) bytes = Buffer.concat([bytes, bytes]);
          }
          expectSurvival(bytes);
        },
      ),
      { numRuns: 1_500, seed },
    );
  });
});
