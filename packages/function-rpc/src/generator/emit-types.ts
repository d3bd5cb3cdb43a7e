import type { Enumeration, Field, FieldType, Message } from './schema.js';

/** True for a message that consists of one oneof. */
export function isOnlyOneof(message: Message): boolean {
  const [first] = message.fields;
  return first?.oneof !== undefined && message.fields.every(({ oneof }) => oneof === first.oneof);
}

/** True for the message whose content is identified by `kind`, not by the property that is set. */
export function isEnvelope(message: Message): boolean {
  return message.name === 'StreamingMessage';
}

/** Emits an enumeration: a constant with its names, and a number type, because peers may send newer values. */
export function emitEnum({ doc, protoName, name, values }: Enumeration): string[] {
  return [
    ...docLines(doc === '' ? `Values of ${protoName.slice(protoName.indexOf('.') + 1)}.` : doc),
    `export const ${name} = {`,
    ...values.map(([value, number]) => `  ${value}: ${number},`),
    '} as const;',
    `/** A value of ${name}, or a newer one. */`,
    `export type ${name} = number;`,
  ];
}

/** Emits the type that reading returns and the type that writing accepts. */
export function emitTypes(message: Message): string[] {
  if (isEnvelope(message)) return emitEnvelope(message);
  return [
    ...docLines(message.doc),
    ...emitInterface(message.name, message.fields.flatMap(readProperty)),
    '',
    `/** ${message.name} for writing. Omitted fields have their defaults. */`,
    ...emitInterface(`${message.name}Init`, message.fields.flatMap(initProperty)),
  ];
}

function emitInterface(name: string, properties: readonly string[]): string[] {
  // An interface without properties would accept any value.
  if (properties.length === 0) return [`export type ${name} = Readonly<Record<never, never>>;`];
  return [`export interface ${name} {`, ...properties.map((line) => `  ${line}`), '}'];
}

function readProperty(field: Field): string[] {
  const type = readType(field.type);
  return [...docLines(field.doc), `readonly ${field.property}${readSuffix(field, type)};`];
}

function readSuffix({ label, type: { kind }, oneof }: Field, type: string): string {
  if (label === 'repeated') return `: readonly ${inList(type)}[]`;
  if (label === 'map') return `: Readonly<Record<string, ${type}>>`;
  return kind === 'message' || oneof !== undefined ? `?: ${type} | undefined` : `: ${type}`;
}

function initProperty({ label, type, property }: Field): string[] {
  const name = initType(type);
  if (label === 'repeated') return [`readonly ${property}?: readonly ${inList(name)}[] | null | undefined;`];
  if (label === 'map') return [`readonly ${property}?: Readonly<Record<string, ${name}>> | null | undefined;`];
  return [`readonly ${property}?: ${name} | null | undefined;`];
}

function emitEnvelope(message: Message): string[] {
  const contents = message.fields.filter(({ oneof }) => oneof !== undefined);
  const content = `${message.name}Content`;
  const properties = (type: (of: FieldType) => string): string[] =>
    contents.map((field) => `readonly ${field.property}: ${type(field.type)};`);
  return [
    `/** The contents of a ${message.name} by kind. */`,
    ...emitInterface(content, properties(readType)),
    '',
    `/** The contents of a ${message.name} by kind, for writing. */`,
    ...emitInterface(`${content}Init`, properties(initType)),
    '',
    `/** The kind of a ${message.name}. */`,
    `export type ${message.name}Kind = keyof ${content};`,
    '',
    `/** A ${message.name} of one kind. */`,
    `export interface ${message.name}Of<K extends ${message.name}Kind> {`,
    '  readonly requestId: string;',
    '  readonly kind: K;',
    `  readonly value: ${content}[K];`,
    '}',
    '',
    ...docLines(`${message.doc} A message of a newer protocol, or an empty one, has no kind.`),
    `export type ${message.name} =`,
    `  | { [K in ${message.name}Kind]: ${message.name}Of<K> }[${message.name}Kind]`,
    '  | { readonly requestId: string; readonly kind: undefined; readonly value: undefined };',
    '',
    `/** ${message.name} for writing. */`,
    `export type ${message.name}Init = {`,
    `  readonly [K in ${message.name}Kind]: {`,
    '    readonly requestId?: string | null | undefined;',
    '    readonly kind: K;',
    `    readonly value: ${content}Init[K];`,
    '  };',
    `}[${message.name}Kind];`,
  ];
}

/** Returns the type of a decoded value. */
export function readType(type: FieldType): string {
  if (type.kind === 'message') return type.message;
  if (type.kind === 'enum') return type.enum;
  switch (type.scalar) {
    case 'string':
      return 'string';
    case 'bytes':
      return 'Uint8Array';
    case 'bool':
      return 'boolean';
    case 'int64':
    case 'sint64':
      return 'number | bigint';
    case 'int32':
    case 'double':
      return 'number';
  }
}

function initType(type: FieldType): string {
  return type.kind === 'message' ? `${type.message}Init` : readType(type);
}

function inList(type: string): string {
  return type.includes(' ') ? `(${type})` : type;
}

function docLines(doc: string): string[] {
  return doc === '' ? [] : [`/** ${doc} */`];
}
