import type { MessageProperties } from './locked-messages.js';

interface DecodedMap {
  /** Keys and values in turn, if it is a map. */
  readonly value: unknown;
}

/** A boolean in two bytes, which rhea reads as a number. */
const booleanCode = 0x56;

/** The part of the codec of rhea that is needed here; its own types leave it out. */
interface AmqpCodec {
  readonly Reader: new (bytes: Buffer) => { read(): DecodedMap; remaining(): number };
  unwrap(value: unknown): unknown;
}

/**
 * Reads a map in AMQP encoding whose keys are text and whose values are simple. Throws with the problem otherwise. The codec is
 * loaded at the first call: few functions write properties with a settlement.
 */
export async function readAmqpMap(bytes: Uint8Array): Promise<MessageProperties> {
  const { default: rhea } = await import('rhea');
  const codec = rhea.types as unknown as AmqpCodec; // see AmqpCodec
  const reader = new codec.Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const decoded = reader.read();
  if (Array.isArray(decoded.value)) for (const item of decoded.value) readBoolean(item);
  const value = codec.unwrap(decoded);
  if (reader.remaining() > 0) throw new Error(`${reader.remaining()} bytes follow the map`);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date)
    throw new Error('it is not a map');
  const entries = Object.entries(value).map(([key, entry]) => [key, simple(key, entry)] as const);
  return Object.fromEntries(entries);
}

function readBoolean(item: { readonly type?: { readonly typecode: number }; value: unknown }): void {
  if (item.type?.typecode === booleanCode) item.value = item.value === 1;
}

function simple(key: string, value: unknown): MessageProperties[string] {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new Error(`the value of ${JSON.stringify(key)} is not text, a number, a boolean or a time`);
}
