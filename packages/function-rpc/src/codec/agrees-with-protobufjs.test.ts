import path from 'node:path';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { ProtoReader } from './reader.js';
import { ProtoWriter } from './writer.js';
import { packageFolder } from '../generator/schema.js';
import { arbitraryMessage, generatedCodec, schema, type Plain } from './every-message.test.fixture.js';

/** Another implementation, which reads the same definition with a parser and an encoder of its own. */
const root = new protobuf.Root();
root.resolvePath = (_, target) => path.join(packageFolder, 'proto', target);
root.loadSync(['FunctionRpc.proto', 'Settlement.proto']);

const codec = await generatedCodec();

function encode(name: string, message: Plain): Buffer {
  const writer = new ProtoWriter(Buffer.alloc(16));
  codec.write(name, writer, message);
  return Buffer.from(writer.buffer.subarray(0, writer.position));
}

function encodeOther(protoName: string, message: Plain): Buffer {
  const type = root.lookupType(protoName);
  return Buffer.from(type.encode(type.fromObject(forOther(message) as Record<string, unknown>)).finish());
}

/** Numbers of 64 bits as text, and an envelope as one of many properties. */
function forOther(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(forOther);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const { kind, value: content, requestId, ...rest } = value as Plain;
  if (typeof kind === 'string') return { requestId, [kind]: forOther(content) };
  const entries = Object.entries(Object.keys(rest).length === Object.keys(value).length ? rest : value);
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of entries) copy[key] = forOther(item);
  return copy;
}

describe('every message', () => {
  it.each(schema.messages.map(({ name, protoName }) => [name, protoName]))(
    '%s is written, byte for byte, as another implementation writes it, and read again',
    (name, protoName) => {
      fc.assert(
        fc.property(arbitraryMessage(name), (message) => {
          const bytes = encode(name, message);
          expect(bytes.equals(encodeOther(protoName, message))).toBe(true);
          const read = codec.read(name, new ProtoReader(bytes), bytes.length);
          expect(encode(name, read).equals(bytes)).toBe(true);
        }),
        { numRuns: 40, seed: 20_230_701 },
      );
    },
  );

  it.each(schema.messages.map(({ name }) => [name]))('%s has its defaults when nothing was said', (name) => {
    const read = codec.read(name, new ProtoReader(Buffer.alloc(0)), 0);
    expect(encode(name, read).length).toBe(0);
    expect(encode(name, {}).length).toBe(0);
  });
});
