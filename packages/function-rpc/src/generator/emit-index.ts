import { isEnvelope } from './emit-types.js';
import { nameList, type Locate } from './import-lines.js';
import type { Message, Schema } from './schema.js';

/** Returns the names of all types of a message. */
function typeNames(message: Message): string[] {
  const { name } = message;
  const ofEnvelope = isEnvelope(message) ? [`${name}Content`, `${name}ContentInit`, `${name}Kind`, `${name}Of`] : [];
  return [name, ...ofEnvelope, `${name}Init`];
}

/** Emits the index that exports all types and enumerations. */
export function emitIndex(schema: Schema, locate: Locate): string[] {
  const bySource = new Map<string, string[]>();
  for (const message of schema.messages) {
    const source = `./${locate(message.name, 'types')}.js`;
    bySource.set(source, [...(bySource.get(source) ?? []), ...typeNames(message)]);
  }
  const enums = nameList(
    'export',
    schema.enums.map(({ name }) => name),
    './enums.js',
  );
  const types = [...bySource].flatMap(([source, names]) => nameList('export type', names, source));
  return [...enums, ...types];
}
