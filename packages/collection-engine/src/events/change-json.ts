import type { CollectionModel } from '../model/collection-model.js';
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
  const hidden = [...collection.fields.values()].filter(({ type }) => type === 'ENCRYPTED').map(({ name }) => name);
  const before = withoutFields(event.before, hidden);
  const after = withoutFields(event.after, hidden);
  return `${JSON.stringify(head).slice(0, -1)},"before":${before},"after":${after}}`;
}

function withoutFields(body: string | undefined, hidden: readonly string[]): string {
  if (body === undefined) return 'null';
  if (hidden.length === 0) return body;
  const shown = Object.entries(JSON.parse(body) as Record<string, unknown>).filter(([name]) => !hidden.includes(name));
  return JSON.stringify(Object.fromEntries(shown));
}
