import { emitRead, emitReadEntry } from './emit-read.js';
import { emitEnum, emitTypes } from './emit-types.js';
import { emitWrite } from './emit-write.js';
import { emitIndex } from './emit-index.js';
import { importLines, type Locate, type Part } from './import-lines.js';
import type { Message, Schema } from './schema.js';
import { sourceFilesOf, type SourceFile } from './source-files.js';

const header =
  '// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.';

/** Longer files are split into types, writer and reader: the repository limits the length of files. */
const maxLines = 300;

/** Returns the text of all generated files by file name. */
export function emitFiles(schema: Schema): ReadonlyMap<string, string> {
  const files = sourceFilesOf(schema).map((file) => ({ file, parts: emitParts(file, mapValues(schema)) }));
  const whole = new Set(files.filter(({ parts }) => lengthOf(parts) <= maxLines).map(({ file }) => file.name));
  const fileOf = new Map(files.flatMap(({ file }) => file.messages.map(({ name }) => [name, file.name] as const)));
  const locate: Locate = (message, part) => {
    const name = fileOf.get(message) ?? '';
    return whole.has(name) || part === 'types' ? name : `${name}-${part}`;
  };

  const enums = [header, '', ...schema.enums.flatMap((entry) => [...emitEnum(entry), ''])];
  const emitted = new Map([
    ['enums.ts', finish(enums)],
    ['index.ts', finish([header, '', ...emitIndex(schema, locate)])],
  ]);
  for (const { file, parts } of files) {
    for (const [name, sections] of bySource(file, parts, locate)) {
      const body = sections.flatMap((section) => [...section, '']);
      const imports = importLines({ name, body: body.join('\n'), schema, locate });
      emitted.set(`${name}.ts`, finish([header, '', ...imports, '', ...body]));
    }
  }
  return emitted;
}

type Parts = Readonly<Record<Part, readonly string[]>>;

function emitParts(file: SourceFile, entries: ReadonlySet<string>): readonly Parts[] {
  return file.messages.map((message) => ({
    types: emitTypes(message),
    write: emitWrite(message),
    read: entries.has(message.name) ? [...emitRead(message), '', ...emitReadEntry(message)] : emitRead(message),
  }));
}

/** Groups the parts of these messages by the file they belong to. */
function bySource(file: SourceFile, parts: readonly Parts[], locate: Locate): Map<string, (readonly string[])[]> {
  const sources = new Map<string, (readonly string[])[]>();
  for (const [index, { name }] of file.messages.entries()) {
    for (const part of ['types', 'write', 'read'] as const) {
      const source = locate(name, part);
      sources.set(source, [...(sources.get(source) ?? []), parts[index]?.[part] ?? []]);
    }
  }
  return sources;
}

function lengthOf(parts: readonly Parts[]): number {
  return parts.flatMap(({ types, write, read }) => [...types, ...write, ...read]).length;
}

/** Returns the names of messages that are values of maps. */
function mapValues(schema: Schema): ReadonlySet<string> {
  const isMapValue = ({ fields }: Message): string[] =>
    fields.flatMap(({ label, type }) => (label === 'map' && type.kind === 'message' ? [type.message] : []));
  return new Set(schema.messages.flatMap(isMapValue));
}

function finish(lines: readonly string[]): string {
  return `${lines.join('\n').trimEnd()}\n`;
}
