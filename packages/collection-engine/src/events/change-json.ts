import type { CollectionModel } from '../model/collection-model.js';
import type { RecordEvent } from './record-event.js';

/**
 * Returns a change as the API shows it, in one line. Bodies are passed on as PostgreSQL made them. Positions are texts: clients
 * compare and store them, and must not calculate with them.
 */
export function changeJson(collection: Pick<CollectionModel, 'name'>, event: RecordEvent): string {
  const { id, kind, recordId, version, actor, at, before = 'null', after = 'null' } = event;
  const head = {
    position: String(id),
    kind,
    collection: collection.name,
    id: recordId,
    version,
    actor,
    at: at.toISOString(),
  };
  return `${JSON.stringify(head).slice(0, -1)},"before":${before},"after":${after}}`;
}
