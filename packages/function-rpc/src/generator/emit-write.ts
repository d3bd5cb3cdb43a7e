import { isEnvelope } from './emit-types.js';
import { aOrAn, functionHead, indent } from './layout.js';
import { isPacked, type Field, type Message } from './schema.js';

/** The wire types of tags. */
const wireTypes = { varint: 0, fixed64: 1, delimited: 2 } as const;

/** Returns the tag with which a value of the field is written. */
export function tagOf({ number, label, type }: Field): number {
  return (number << 3) | (label === 'singular' ? wireTypeOf(type) : wireTypes.delimited);
}

/** Returns the wire type of a single value. */
export function wireTypeOf(type: Field['type']): number {
  if (type.kind === 'message') return wireTypes.delimited;
  if (type.kind === 'enum') return wireTypes.varint;
  if (type.scalar === 'double') return wireTypes.fixed64;
  return type.scalar === 'string' || type.scalar === 'bytes' ? wireTypes.delimited : wireTypes.varint;
}

/** Emits the function that writes the fields of a message. */
export function emitWrite(message: Message): string[] {
  const name = `write${message.name}`;
  const body = isEnvelope(message) ? envelopeBody(message) : fieldsBody(message);
  const unused = message.fields.length === 0 ? '_' : '';
  return [
    `/** Writes the fields of ${aOrAn(message.name)}. */`,
    ...functionHead(name, [`${unused}writer: ProtoWriter`, `${unused}message: ${message.name}Init`], 'void'),
    ...indent(body.length === 0 ? ['// no fields'] : body),
    '}',
  ];
}

function fieldsBody(message: Message): string[] {
  return message.fields.flatMap((field, index) => {
    const before = message.fields.slice(0, index).some(({ oneof }) => oneof === field.oneof && oneof !== undefined);
    if (before) return [];
    if (field.oneof === undefined) return writeField(field);
    return writeOneof(message.fields.filter(({ oneof }) => oneof === field.oneof));
  });
}

/** Emits code that writes at most one member. */
function writeOneof(members: readonly Field[]): string[] {
  const branches = members.map((field) => [
    `if (message.${field.property} != null) {`,
    ...indent(writeValue(field, `message.${field.property}`)),
  ]);
  return [...branches.flatMap(([head = '', ...body], index) => [index === 0 ? head : `} else ${head}`, ...body]), '}'];
}

function writeField(field: Field): string[] {
  const value = `message.${field.property}`;
  if (field.label === 'map') return block(`if (${value} != null)`, writeMap(field, value));
  if (field.label === 'repeated') return writeList(field, value);
  if (field.type.kind === 'message') return block(`if (${value} != null)`, writeValue(field, value));
  if (field.type.kind === 'scalar' && field.type.scalar === 'double') {
    throw new Error(`${field.name} is a double outside a oneof; the generator does not handle -0 and NaN there.`);
  }
  const isBytes = field.type.kind === 'scalar' && field.type.scalar === 'bytes';
  // Defaults are falsy and are not written.
  return [`if (${isBytes ? `${value}?.length` : value}) ${writeValue(field, value).join('')}`];
}

function writeList(field: Field, value: string): string[] {
  if (field.type.kind === 'scalar' && isPacked(field.type)) {
    const method = `packed${field.type.scalar.slice(0, 1).toUpperCase()}${field.type.scalar.slice(1)}`;
    return [`if (${value}?.length) writer.${method}(${tagOf(field)}, ${value}, ${field.place});`];
  }
  const each = block(`for (const item of ${value})`, writeValue(field, 'item'));
  return block(`if (${value} != null)`, each);
}

function writeMap(field: Field, value: string): string[] {
  const { type } = field;
  if (type.kind !== 'message') {
    return [`write${mapKind(field)}Map(writer, ${tagOf(field)}, ${value}, ${field.place});`];
  }
  return block(`for (const key of Object.keys(${value}))`, [
    `const item = ${value}[key];`,
    'if (item == null) continue;',
    `const start = writer.open(${tagOf(field)}, ${field.place});`,
    'writer.string(10, key);',
    `const inner = writer.open(18, ${field.place});`,
    `write${type.message}(writer, item);`,
    `writer.close(inner, ${field.place});`,
    `writer.close(start, ${field.place});`,
  ]);
}

/** Returns `String`, `Int32` or `Bool`: map-entries.ts has helpers for these. */
export function mapKind({ type, name }: Field): string {
  if (type.kind === 'enum') return 'Int32';
  if (type.kind === 'scalar' && type.scalar === 'string') return 'String';
  if (type.kind === 'scalar' && type.scalar === 'bool') return 'Bool';
  throw new Error(`${name} is a map of a type without a helper. Add one to src/codec/map-entries.ts.`);
}

function writeValue(field: Field, value: string): string[] {
  const { type, place } = field;
  const tag = (field.number << 3) | wireTypeOf(type);
  if (type.kind === 'message') {
    return [
      `const start = writer.open(${tag}, ${place});`,
      `write${type.message}(writer, ${value});`,
      `writer.close(start, ${place});`,
    ];
  }
  return [`writer.${type.kind === 'enum' ? 'int32' : type.scalar}(${tag}, ${value});`];
}

function envelopeBody(message: Message): string[] {
  const contents = message.fields.filter(({ oneof }) => oneof !== undefined);
  return [
    ...message.fields.filter(({ oneof }) => oneof === undefined).flatMap(writeField),
    'switch (message.kind) {',
    ...indent(
      contents.flatMap((field) => [
        `case '${field.property}': {`,
        ...indent([...writeValue(field, 'message.value'), 'break;']),
        '}',
      ]),
    ),
    '}',
  ];
}

function block(head: string, body: readonly string[]): string[] {
  return [`${head} {`, ...indent(body), '}'];
}
