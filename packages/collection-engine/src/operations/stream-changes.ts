import { hasCode } from '@drover/contracts';
import { changeJson } from '../events/change-json.js';
import { tooManyStreams } from '../events/change-errors.js';
import type { RecordEventBatch } from '../events/event-follower.js';
import { parseSince, positionSince, type Since } from '../events/read-since.js';
import type { RecordEventTail } from '../events/record-event-tail.js';
import type { CollectionModel, FindCollection } from '../model/collection-model.js';
import type { FilterNode } from '../parse/parse-filter.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { queryInvalid } from '../request/request-errors.js';
import { changesOf, sinceInvalid } from './change-parameters.js';
import { matchChanges } from './match-changes.js';

interface StreamOptions {
  /** Silence after which a comment is sent, so that proxies keep the connection; the position is sent with it. */
  readonly keepAliveMs?: number;
  /** Streams of one tenant at a time. */
  readonly streamsPerTenant?: number;
}

interface Subscription {
  readonly context: RecordContext;
  readonly collection: CollectionModel;
  readonly after: number;
  /** Whether the client continues from a position that it was given. */
  readonly isResumed: boolean;
  /** Undefined: all changes are sent. */
  readonly filter: FilterNode | undefined;
  readonly signal: AbortSignal;
  readonly dependencies: OperationDependencies;
}

/** How long a client waits before it connects again. */
const retryMs = 1_000;

/**
 * `GET /{collection}/stream`: changes as server-sent events, from now on or after the position in `Last-Event-ID` or `since`. Every
 * change after that position is sent, in order; one may be sent again after a reconnect. With `filter`, changes of records are sent that
 * meet it before or after the change.
 */
export function streamChanges(tail: RecordEventTail, options: StreamOptions = {}): RecordOperation {
  const { keepAliveMs = 15_000, streamsPerTenant = 1_000 } = options;
  const open = new Map<string, number>();
  return async (context, collection, request, dependencies) => {
    changesOf(context, collection);
    const { filter, own } = parseRecordQuery(request.query, { takes: ['filter'], own: ['since'] }, context.limits);
    // A filter that cannot be planned or run is refused now, not in the middle of the stream.
    if (filter) await matchChanges(context, collection, { filter, events: [] }, dependencies);
    const since = sinceOf(request, own.get('since'));
    const after = await positionSince(dependencies.database, collection.id, since, await tail.position());
    const isResumed = since.kind === 'position';
    const { tenantId } = context;
    const streams = open.get(tenantId) ?? 0;
    if (streams >= streamsPerTenant) throw tooManyStreams({ limit: streamsPerTenant });
    const { signal } = request;
    const subscription = { context, collection, after, isResumed, filter, signal, dependencies };
    async function* body(): AsyncGenerator<string, void, undefined> {
      open.set(tenantId, (open.get(tenantId) ?? 0) + 1);
      try {
        yield* serverSentEvents(tail, subscription, keepAliveMs);
      } finally {
        open.set(tenantId, (open.get(tenantId) ?? 1) - 1);
      }
    }
    return {
      status: 200,
      // The last header asks nginx not to collect events before it passes them on.
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
      body: body(),
    };
  };
}

/** Without a position a stream is about what happens from now on; the past is in the records themselves. */
function sinceOf({ headers }: Pick<RecordRequest, 'headers'>, given: string | undefined): Since {
  const lastId = headers['last-event-id']?.trim() || undefined;
  const since = parseSince(lastId ?? given);
  if (lastId !== undefined && since?.kind !== 'position') {
    const detail = `Last-Event-ID is "${lastId.slice(0, 50)}". Send the id of an event of this stream.`;
    throw queryInvalid({ problems: [{ code: 'INVALID_QUERY', detail, source: { header: 'Last-Event-ID' } }] });
  }
  if (!since) throw queryInvalid({ problems: [sinceInvalid(given)] });
  return since.kind === 'oldest' ? { kind: 'now' } : since;
}

async function* serverSentEvents(
  tail: RecordEventTail,
  { context, collection, after, isResumed, filter, signal, dependencies }: Subscription,
  keepAliveMs: number,
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\nid: ${after}\n\n`;
  const follow = { collectionIds: [collection.id], after, signal, idleMs: keepAliveMs };
  for await (const batch of tail.follow(follow)) {
    // The definition may have changed, the collection may be gone, and the key may have lost its rights.
    const current = await currentOf(dependencies.find, context, collection);
    if (!current) return;
    const matched = filter && (await matchChanges(context, current, { filter, events: batch.events }, dependencies));
    const events = matched ? batch.events.filter(({ id }) => matched.has(id)) : batch.events;
    yield batchText(current, { ...batch, events }, isResumed);
  }
}

function batchText(
  collection: CollectionModel,
  { events, upTo, isTrimmed }: RecordEventBatch,
  isResumed: boolean,
): string {
  const reset =
    isTrimmed && isResumed && !collection.hasHistory
      ? `event: reset\ndata: {"reason":"Changes were removed before this client read them. Load the records again."}\n\n`
      : '';
  if (events.length === 0) return `${reset}: keep-alive\nid: ${upTo}\n\n`;
  const texts = events.map(
    (event) => `id: ${event.id}\nevent: ${event.kind}\ndata: ${changeJson(collection, event)}\n\n`,
  );
  return reset + texts.join('');
}

/** Resolves with undefined if the stream must end: the client connects again and is told why. */
async function currentOf(
  find: FindCollection,
  context: RecordContext,
  { id, name }: CollectionModel,
): Promise<CollectionModel | undefined> {
  try {
    const current = await find(context.tenantId, name);
    return current.id === id && current.hasEvents && context.access.mayRead(current) ? current : undefined;
  } catch (error) {
    if (hasCode(error, 'COLLECTION_UNKNOWN')) return undefined;
    throw error;
  }
}
