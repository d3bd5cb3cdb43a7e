import { isEnvelope } from './emit-types.js';
import { nameList, type Locate } from './import-lines.js';
import type { Message, Schema } from './schema.js';

/** Names the types that belong to a message, beside itself those for writing. */
export function typeNames(message: Message): string[] {
  const { name } = message;
  const ofEnvelope = isEnvelope(message) ? [`${name}Content`, `${name}ContentInit`, `${name}Kind`, `${name}Of`] : [];
  return [name, ...ofEnvelope, `${name}Init`];
}

/** One place from which all types and enumerations can be had. */
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
