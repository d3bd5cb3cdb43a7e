import rhea, { type Typed } from 'rhea';
import { readBooleans } from './booleans.js';

/**
 * Typed AMQP values for attach replies, management replies and annotations. Plain JavaScript values are encoded by rhea's
 * guess (an integer becomes a uint), which the SDKs refuse where they expect a long, a timestamp or a uuid.
 */
export type AmqpValue = Typed;

const { types } = rhea;

const arrayCodes = { long: 0x81, int: 0x71, timestamp: 0x83, uuid: 0x98, string: 0xb1, symbol: 0xb3 } as const;

export const amqpValue = {
  /** A 64-bit integer; a bigint keeps every bit. */
  long: (value: number | bigint): AmqpValue => types.wrap_long(typeof value === 'bigint' ? longBytes(value) : value),
  int: (value: number): AmqpValue => types.wrap_int(value),
  uint: (value: number): AmqpValue => types.wrap_uint(value),
  short: (value: number): AmqpValue => types.wrap_short(value),
  boolean: (value: boolean): AmqpValue => types.wrap_boolean(value),
  timestamp: (unixMs: number): AmqpValue => types.wrap_timestamp(unixMs),
  /** 16 bytes in network order. */
  uuid: (bytes: Buffer): AmqpValue => types.wrap_uuid(bytes),
  symbol: (value: string): AmqpValue => types.wrap_symbol(value),
  string: (value: string): AmqpValue => types.wrap_string(value),
  binary: (value: Buffer): AmqpValue => types.wrap_binary(value),
  list: (values: readonly unknown[]): AmqpValue => types.wrap_list(values),
  /** An AMQP array: longs and uuids may be given as buffers. */
  array: (kind: keyof typeof arrayCodes, values: readonly (number | string | Buffer)[]): AmqpValue =>
    types.wrap_array(values, arrayCodes[kind], undefined),
  /** A described list such as a rule description: descriptor is a ulong. */
  describedList: (descriptor: number, values: readonly unknown[]): AmqpValue =>
    types.wrap_described(values, descriptor),
  /** Unix milliseconds as .NET ticks in a long, the form of `com.microsoft:locked-until-utc`. */
  dotnetTicks: (unixMs: number): AmqpValue =>
    types.wrap_long(longBytes(BigInt(Math.round(unixMs)) * 10_000n + 621_355_968_000_000_000n)),
};

function longBytes(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** Reads a decoded AMQP integer: a number as it is, a long beyond 2^53 (8 bytes) as the nearest number, else undefined. */
export function integerOf(value: unknown): number | undefined {
  const plain = plainValue(value);
  if (typeof plain === 'number') return plain;
  return Buffer.isBuffer(plain) && plain.length === 8 ? Number(plain.readBigInt64BE()) : undefined;
}

/** Unwraps rhea's typed and described values, at the top level only. */
export function plainValue(value: unknown): unknown {
  let plain = value;
  while (isTyped(plain)) plain = plain.value;
  return plain;
}

/** Returns the value with the descriptor of another one, if that has one. */
export function describedLike(model: unknown, value: unknown): unknown {
  const descriptor = isTyped(model) && 'descriptor' in model ? model.descriptor : undefined;
  return descriptor === undefined ? value : Object.assign(codec.wrap(value), { descriptor });
}

function isTyped(value: unknown): value is { readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'type' in value && 'value' in value && 'toRheaTyped' in value;
}

/** Parts of rhea's codec that its typings leave out. */
interface RheaCodec {
  wrap(value: unknown): AmqpValue;
  unwrap(value: AmqpValue): unknown;
  readonly Writer: new () => { write(value: AmqpValue): void; toBuffer(): Buffer };
  readonly Reader: new (buffer: Buffer) => { read(): AmqpValue };
}
const codec = types as unknown as RheaCodec;

/** Encodes one value the way it stands in a message. */
export function encodeValue(value: unknown): Buffer {
  const writer = new codec.Writer();
  writer.write(codec.wrap(value));
  return writer.toBuffer();
}

/** Decodes one encoded value: maps become objects, described values keep only their value. */
export function decodeValue(encoded: Buffer): unknown {
  const decoded = new codec.Reader(encoded).read();
  readBooleans(decoded);
  return codec.unwrap(decoded);
}
