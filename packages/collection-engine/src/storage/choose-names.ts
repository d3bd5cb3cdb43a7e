import { randomBytes } from 'node:crypto';
import type { CollectionDefinition } from '@drover/contracts';
import { reservedColumns, type StoredCollection } from '../model/collection-model.js';

/** PostgreSQL cuts longer names. */
const longestName = 63;

/**
 * Chooses the name of a new table: the start of the name of the collection, for readers of the database, and random letters,
 * because names repeat in other tenants and after a removal. Names of its indexes start with it and must stay below 63 bytes.
 */
export function chooseTable({ name }: Pick<CollectionDefinition, 'name'>): string {
  const readable = name.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');
  return `${readable.slice(0, 24)}_${randomBytes(6).toString('hex')}`;
}

/**
 * Chooses the column, or key of the document, of every field. `kept` holds the columns of fields that have one already, by name of the
 * field; `taken` those of other fields, also of removed ones: their values may still be stored.
 */
export function chooseColumns(
  { fields }: Pick<CollectionDefinition, 'fields'>,
  kept: StoredCollection['columns'] = {},
  taken: Iterable<string> = [],
): StoredCollection['columns'] {
  const used = new Set([...reservedColumns, ...taken, ...Object.values(kept)]);
  return Object.fromEntries(
    fields.map(({ name }) => {
      const column = Object.hasOwn(kept, name) ? kept[name] : undefined;
      if (column !== undefined) return [name, column];
      const chosen = freeName(name, used);
      used.add(chosen);
      return [name, chosen];
    }),
  );
}

function freeName(name: string, used: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `_${number}`;
    const candidate = `${cut(name, longestName - suffix.length)}${suffix}`;
    if (!used.has(candidate)) return candidate;
  }
}

/** Cuts a name to a number of bytes without cutting a character. */
function cut(name: string, bytes: number): string {
  let short = name;
  while (Buffer.byteLength(short) > bytes) short = short.replace(/.$/su, '');
  return short;
}
