import { isEnvelope, isOnlyOneof, readType } from './emit-types.js';
import { mapKind, tagOf, wireTypeOf } from './emit-write.js';
import { aOrAn, functionHead, indent, numberList } from './layout.js';
import { isPacked, type Field, type Message } from './schema.js';

/** Emits the function that reads a message up to `end`, and its constants. */
export function emitRead(message: Message): string[] {
  const known = `${message.name.slice(0, 1).toLowerCase()}${message.name.slice(1)}Fields`;
  return [
    ...numberList(
      `const ${known}: readonly number[] = `,
      message.fields.map(({ number }) => number),
    ),
    '',
    `/** Reads ${aOrAn(message.name)} that ends at \`end\`. */`,
    ...functionHead(`read${message.name}`, ['reader: ProtoReader', 'end: number'], message.name),
    ...indent([
      ...locals(message),
      'while (reader.position < end) {',
      '  const tag = reader.tag();',
      ...indent(dispatch(message, known)),
      '}',
      'reader.leave(end);',
      ...result(message),
    ]),
    '}',
  ];
}

/** Emits the function that reads an entry of a map whose values are this message. */
export function emitReadEntry({ name }: Message): string[] {
  return [
    `/** Reads one entry of a map of ${name} into \`into\`. */`,
    ...functionHead(
      `read${name}Entry`,
      ['reader: ProtoReader', 'end: number', `into: Record<string, ${name}>`],
      'void',
    ),
    "  let key = '';",
    `  let value: ${name} | undefined;`,
    '  while (reader.position < end) {',
    '    const tag = reader.tag();',
    '    if (tag === 10) key = reader.string(end);',
    `    else if (tag === 18) value = read${name}(reader, reader.nested(end));`,
    '    else reader.skip(tag, end, entryFields);',
    '  }',
    '  reader.leave(end);',
    `  into[key] = value ?? read${name}(reader, reader.nothing());`,
    '}',
  ];
}

function dispatch(message: Message, known: string): string[] {
  if (message.fields.length === 0) return [`reader.skip(tag, end, ${known});`];
  return [
    'switch (tag) {',
    ...indent(message.fields.flatMap((field) => readCases(field, message))),
    '  default:',
    `    reader.skip(tag, end, ${known});`,
    '}',
  ];
}

function locals(message: Message): string[] {
  if (isOnlyOneof(message)) return [`let message: ${message.name} | undefined;`];
  if (isEnvelope(message)) {
    return ["let requestId = '';", `let kind: ${message.name}Kind | undefined;`, 'let value: unknown;'];
  }
  return message.fields.map((field) => {
    const type = readType(field.type);
    if (field.label === 'map') return `const ${local(field)} = new nullRecord<${type}>();`;
    if (field.label === 'repeated') {
      return `const ${local(field)}: ${type.includes(' ') ? `(${type})` : type}[] = [];`;
    }
    if (field.type.kind === 'message' || field.oneof !== undefined) return `let ${local(field)}: ${type} | undefined;`;
    const value = defaultOf(field);
    return type.includes(' ') || type === 'Uint8Array'
      ? `let ${local(field)}: ${type} = ${value};`
      : `let ${local(field)} = ${value};`;
  });
}

function defaultOf({ type }: Field): string {
  if (type.kind !== 'scalar') return '0';
  if (type.scalar === 'string') return "''";
  if (type.scalar === 'bytes') return 'noBytes';
  return type.scalar === 'bool' ? 'false' : '0';
}

function readCases(field: Field, message: Message): string[] {
  const single = (field.number << 3) | wireTypeOf(field.type);
  if (field.label === 'map') {
    const entry = field.type.kind === 'message' ? field.type.message : mapKind(field);
    return readCase(tagOf(field), [`read${entry}Entry(reader, reader.nested(end), ${local(field)});`]);
  }
  if (field.label === 'repeated') {
    const one = readCase(single, [`${local(field)}.push(${readValue(field)});`]);
    if (!isPacked(field.type)) return one;
    const all = readCase(tagOf(field), [
      'const stop = reader.delimited(end);',
      `while (reader.position < stop) ${local(field)}.push(${readValue(field)});`,
    ]);
    return [...all, ...one];
  }
  if (isEnvelope(message) && field.oneof !== undefined) {
    return readCase(single, [`kind = '${field.property}';`, `value = ${readValue(field)};`]);
  }
  if (isOnlyOneof(message)) return readCase(single, [`message = { ${field.property}: ${readValue(field)} };`]);
  const others = message.fields.filter((other) => other !== field && field.oneof && other.oneof === field.oneof);
  return readCase(single, [
    `${local(field)} = ${readValue(field)};`,
    ...others.map((other) => `${local(other)} = undefined;`),
  ]);
}

function readCase(tag: number, body: readonly string[]): string[] {
  const declares = body.some((line) => line.startsWith('const '));
  const lines = indent([...body, 'break;']);
  return declares ? [`case ${tag}: {`, ...lines, '}'] : [`case ${tag}:`, ...lines];
}

function readValue({ type }: Field): string {
  if (type.kind === 'message') return `read${type.message}(reader, reader.nested(end))`;
  if (type.kind === 'enum') return 'reader.int32()';
  const needsEnd = type.scalar === 'string' || type.scalar === 'bytes';
  return `reader.${type.scalar}(${needsEnd ? 'end' : ''})`;
}

function result(message: Message): string[] {
  if (isOnlyOneof(message)) return ['return message ?? {};'];
  if (message.fields.length === 0) return ['return {};'];
  if (isEnvelope(message)) {
    return ['// Kind and value were read together.', `return { requestId, kind, value } as ${message.name};`];
  }
  return [
    'return {',
    ...indent(
      message.fields.map((field) =>
        local(field) === field.property ? `${field.property},` : `${field.property}: ${local(field)},`,
      ),
    ),
    '};',
  ];
}

/** Returns the name of the local variable: some property names have another meaning inside the function. */
function local({ property }: Field): string {
  return ['reader', 'end', 'tag', 'stop'].includes(property) ? `${property}Value` : property;
}
