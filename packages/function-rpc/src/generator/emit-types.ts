import { aOrAn } from './layout.js';
import type { Enumeration, Field, FieldType, Message } from './schema.js';

/** The oneof that a message consists of, if it has no other field. */
export function isOnlyOneof(message: Message): boolean {
  const [first] = message.fields;
  return first?.oneof !== undefined && message.fields.every(({ oneof }) => oneof === first.oneof);
}

/** True for the message whose content is told by its kind, not by which property is there. */
export function isEnvelope(message: Message): boolean {
  return message.name === 'StreamingMessage';
}

/** An enumeration: its names as a constant, its values as numbers, since the network may bring others. */
export function emitEnum({ doc, protoName, name, values }: Enumeration): string[] {
  return [
    ...docLines(doc === '' ? `Values of ${protoName.slice(protoName.indexOf('.') + 1)}.` : doc),
    `export const ${name} = {`,
    ...values.map(([value, number]) => `  ${value}: ${number},`),
    '} as const;',
    `/** A value of ${name}, or one that is newer than this code. */`,
    `export type ${name} = number;`,
  ];
}

/** What reading yields, and what writing takes. */
export function emitTypes(message: Message): string[] {
  if (isEnvelope(message)) return emitEnvelope(message);
  return [
    ...docLines(message.doc),
    ...emitInterface(message.name, message.fields.flatMap(readProperty)),
    '',
    `/** Writes as ${aOrAn(message.name)}: what is left out has its default. */`,
    ...emitInterface(`${message.name}Init`, message.fields.flatMap(initProperty)),
  ];
}

function emitInterface(name: string, properties: readonly string[]): string[] {
  // A weak type of no properties would accept anything.
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
    `/** What a ${message.name} can hold, by its kind. */`,
    ...emitInterface(content, properties(readType)),
    '',
    `/** What a ${message.name} can be written with, by its kind. */`,
    ...emitInterface(`${content}Init`, properties(initType)),
    '',
    `/** Which content a ${message.name} has. */`,
    `export type ${message.name}Kind = keyof ${content};`,
    '',
    `/** A ${message.name} of one kind. */`,
    `export interface ${message.name}Of<K extends ${message.name}Kind> {`,
    '  readonly requestId: string;',
    '  readonly kind: K;',
    `  readonly value: ${content}[K];`,
    '}',
    '',
    ...docLines(`${message.doc} Without a kind it is of a newer protocol, or empty.`),
    `export type ${message.name} =`,
    `  | { [K in ${message.name}Kind]: ${message.name}Of<K> }[${message.name}Kind]`,
    '  | { readonly requestId: string; readonly kind: undefined; readonly value: undefined };',
    '',
    `/** A ${message.name} to write. */`,
    `export type ${message.name}Init = {`,
    `  readonly [K in ${message.name}Kind]: {`,
    '    readonly requestId?: string | null | undefined;',
    '    readonly kind: K;',
    `    readonly value: ${content}Init[K];`,
    '  };',
    `}[${message.name}Kind];`,
  ];
}

/** The type of a value that was read. */
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
