import { changesExpired } from '../events/change-errors.js';
import { changeJson } from '../events/change-json.js';
import { positionSince } from '../events/read-since.js';
import { readRecordEvents } from '../events/record-event.js';
import type { RecordEventTail } from '../events/record-event-tail.js';
import type { RecordOperation } from '../request/record-operation.js';
import { changesOf, readChangeParameters } from './change-parameters.js';

const defaultPageSize = 100;

/**
 * `GET /{collection}/_changes?since=`: the changes after a position, in order. The answer names the position to continue from, also if
 * there is no change; a client that reads from position to position misses none.
 */
export function listChanges(tail: Pick<RecordEventTail, 'position'>): RecordOperation {
  return async (context, collection, request, { database }) => {
    changesOf(context, collection);
    const { since, size = defaultPageSize } = readChangeParameters(
      request.query,
      ['since', 'page[size]'],
      context.limits,
    );
    const reached = await tail.position();
    const after = await positionSince(database, collection.id, since, reached);
    const range = { collectionIds: [collection.id], after, upTo: reached, limit: size };
    const { events, upTo, trimmed } = await readRecordEvents(database, range);
    if (since.kind === 'position' && after < trimmed && !collection.hasHistory)
      throw changesExpired({ collection: collection.name, since: after, oldest: trimmed });
    const hasMore = events.length === size && upTo < reached;
    const next = `${request.path}?since=${upTo}${request.query.includes('page') ? `&page[size]=${size}` : ''}`;
    const data = events.map((event) => changeJson(collection, event)).join(',');
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      body: `{"data":[${data}],"meta":{"next":"${upTo}","hasMore":${hasMore}},"links":{"next":${JSON.stringify(next)}}}`,
    };
  };
}
