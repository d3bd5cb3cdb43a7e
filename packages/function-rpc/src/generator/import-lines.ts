import { lineWidth } from './layout.js';
import type { Schema } from './schema.js';

/** The generated parts of a message; each may be in its own file. */
export type Part = 'types' | 'write' | 'read';

/** Returns the file, without extension, of a part of a message. */
export type Locate = (message: string, part: Part) => string;

const codec: Readonly<Record<string, readonly string[]>> = {
  '../codec/map-entries.js': [
    'entryFields',
    'nullRecord',
    'readBoolEntry',
    'readInt32Entry',
    'readStringEntry',
    'writeBoolMap',
    'writeInt32Map',
    'writeStringMap',
  ],
  '../codec/reader.js': ['noBytes', 'type ProtoReader'],
  '../codec/writer.js': ['type ProtoWriter'],
};

/** Returns the imports of the file `name`: all names that its body uses and does not define. */
export function importLines(file: {
  readonly name: string;
  readonly body: string;
  readonly schema: Schema;
  readonly locate: Locate;
}): string[] {
  const { name, body, schema, locate } = file;
  const words = new Set(body.replaceAll(/\/\*\*.*\*\//g, '').match(/\w+/g));
  const available = new Map(Object.entries(codec));
  const offer = (from: string, names: readonly string[]): void => {
    if (from !== `./${name}.js`) available.set(from, [...(available.get(from) ?? []), ...names]);
  };
  offer(
    './enums.js',
    schema.enums.map((entry) => `type ${entry.name}`),
  );
  for (const message of schema.messages.map((entry) => entry.name)) {
    const own = [message, `${message}Init`, `${message}Content`, `${message}Kind`].map((type) => `type ${type}`);
    offer(`./${locate(message, 'types')}.js`, own);
    offer(`./${locate(message, 'read')}.js`, [`read${message}`, `read${message}Entry`]);
    offer(`./${locate(message, 'write')}.js`, [`write${message}`]);
  }
  return [...available].flatMap(([from, names]) =>
    importLine(
      names.filter((entry) => words.has(entry.replace('type ', ''))),
      from,
    ),
  );
}

function importLine(names: readonly string[], from: string): string[] {
  if (names.length === 0) return [];
  const allTypes = names.every((name) => name.startsWith('type '));
  return allTypes
    ? nameList(
        'import type',
        names.map((name) => name.slice('type '.length)),
        from,
      )
    : nameList('import', names, from);
}

/** Emits an import or export of names: on one line if they fit, as the formatter does. */
export function nameList(keyword: string, names: readonly string[], from: string): string[] {
  const line = `${keyword} { ${names.join(', ')} } from '${from}';`;
  if (line.length <= lineWidth) return [line];
  return [`${keyword} {`, ...names.map((name) => `  ${name},`), `} from '${from}';`];
}
