import { readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import type { ProtoReader } from './reader.js';
import type { ProtoWriter } from './writer.js';
import { isEnvelope } from '../generator/emit-types.js';
import { packageFolder, protocolSchema, type Field, type Message } from '../generator/schema.js';

/** A message as plain data: `bigint` for 64-bit integers, an envelope as kind and value. */
export type Plain = Readonly<Record<string, unknown>>;

export const schema = protocolSchema();
const byName = new Map(schema.messages.map((message) => [message.name, message]));

/** The generated functions of all messages. */
export async function generatedCodec(): Promise<{
  readonly write: (name: string, writer: ProtoWriter, message: Plain) => void;
  readonly read: (name: string, reader: ProtoReader, end: number) => Plain;
}> {
  const folder = path.join(packageFolder, 'src', 'generated');
  const modules = await Promise.all(
    readdirSync(folder).map(async (name) => {
      const specifier = `../generated/${path.basename(name, '.ts')}.js`;
      return (await import(/* @vite-ignore */ specifier)) as Record<string, unknown>;
    }),
  );
  const functions: Record<string, unknown> = Object.assign({}, ...modules) as Record<string, unknown>;
  return {
    write: (name, writer, message) =>
      (functions[`write${name}`] as (w: ProtoWriter, m: Plain) => void)(writer, message),
    read: (name, reader, end) => (functions[`read${name}`] as (r: ProtoReader, e: number) => Plain)(reader, end),
  };
}

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  fc.constantFrom('__proto__', 'constructor', 'x'.repeat(130), 'é'.repeat(100)),
);

/** Generates values of a message, a few levels deep. Defaults are omitted, as on the wire. */
export function arbitraryMessage(name: string, depth = 0): fc.Arbitrary<Plain> {
  const message = byName.get(name);
  if (!message) throw new Error(`there is no message ${name}`);
  if (isEnvelope(message)) return arbitraryEnvelope(message);
  const plain = message.fields.filter((field) => field.oneof === undefined && isReachable(field, depth));
  const choices = message.fields.filter((field) => field.oneof !== undefined && isReachable(field, depth));
  if (new Set(choices.map(({ oneof }) => oneof)).size > 1) throw new Error(`${name} has two oneofs: choose from each`);
  const fields = fc.record(Object.fromEntries(plain.map((field) => [field.property, arbitraryField(field, depth)])), {
    requiredKeys: [],
  });
  const member = fc.oneof(
    fc.constant({}),
    ...choices.map((field) => arbitraryValue(field, depth, true).map((value) => ({ [field.property]: value }))),
  );
  return fc.tuple(fields, member).map(([one, other]) => ({ ...one, ...other }));
}

function arbitraryEnvelope(message: Message): fc.Arbitrary<Plain> {
  const contents = message.fields.filter(({ oneof }) => oneof !== undefined);
  return fc
    .tuple(text, fc.constantFrom(...contents))
    .chain(([requestId, field]) =>
      arbitraryValue(field, 0, true).map((value) => ({ requestId, kind: field.property, value })),
    );
}

function isReachable({ type }: Field, depth: number): boolean {
  return depth < 4 || type.kind !== 'message';
}

function arbitraryField(field: Field, depth: number): fc.Arbitrary<unknown> {
  if (field.label === 'repeated') return fc.array(arbitraryValue(field, depth, true), { minLength: 1, maxLength: 4 });
  if (field.label === 'map') {
    const entry = fc.tuple(text, arbitraryValue(field, depth, true));
    return fc.array(entry, { minLength: 1, maxLength: 4 }).map((entries) => nullPrototype(entries));
  }
  return arbitraryValue(field, depth, false);
}

function nullPrototype(entries: readonly (readonly [string, unknown])[]): Plain {
  const record = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of entries) record[key] = value;
  return record;
}

function arbitraryValue({ type }: Field, depth: number, mayBeDefault: boolean): fc.Arbitrary<unknown> {
  if (type.kind === 'message') return arbitraryMessage(type.message, depth + 1);
  if (type.kind === 'enum') return fc.integer({ min: mayBeDefault ? 0 : 1, max: 20 });
  switch (type.scalar) {
    case 'string':
      return mayBeDefault ? fc.oneof(text, fc.constant('')) : text;
    case 'bytes':
      return fc.uint8Array({ minLength: mayBeDefault ? 0 : 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    case 'bool':
      return mayBeDefault ? fc.boolean() : fc.constant(true);
    case 'int32':
      return fc.integer().filter((value) => mayBeDefault || value !== 0);
    case 'double':
      return fc.double();
    case 'int64':
    case 'sint64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((value) => mayBeDefault || value !== 0n);
  }
}
