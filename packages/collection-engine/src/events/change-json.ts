import type { CollectionModel } from '../model/collection-model.js';
import { exactJson, parseExactly } from '../values/exact-json.js';
import type { RecordEvent } from './record-event.js';

/**
 * Returns a change as the API shows it, in one line. Bodies are passed on as PostgreSQL made them, but without encrypted fields: a
 * feed is read by other systems, which must not get a secret because a record changed. Positions are texts: clients compare and
 * store them, and must not calculate with them.
 */
export function changeJson(collection: Pick<CollectionModel, 'name' | 'fields'>, event: RecordEvent): string {
  const { id, kind, recordId, version, actor, at } = event;
  const head = {
    position: String(id),
    kind,
    collection: collection.name,
    id: recordId,
    version,
    actor,
    at: at.toISOString(),
  };
  const encrypted = [...collection.fields.values()].filter(({ type }) => type === 'ENCRYPTED');
  // Events before a rename have the first name of the field, which is that of its column.
  const former = encrypted.map(({ column }) => column).filter((column) => !collection.fields.has(column));
  const hidden = new Set([...encrypted.map(({ name }) => name), ...former]);
  const before = withoutFields(event.before, hidden);
  const after = withoutFields(event.after, hidden);
  return `${JSON.stringify(head).slice(0, -1)},"before":${before},"after":${after}}`;
}

function withoutFields(body: string | undefined, hidden: ReadonlySet<string>): string {
  if (body === undefined) return 'null';
  if (hidden.size === 0) return body;
  const values = parseExactly(body) as Record<string, unknown>;
  return exactJson(Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.has(name))));
}
