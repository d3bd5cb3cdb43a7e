import { prepared, type Queryable } from '@drover/database';

/** Where a client wants to continue: a position that it was given, a time, or an end of the log. */
export type Since =
  | { readonly kind: 'position'; readonly position: number }
  | { readonly kind: 'time'; readonly at: Date }
  | { readonly kind: 'now' }
  | { readonly kind: 'oldest' };

/** Returns undefined if the text is no position and no time. */
export function parseSince(text: string | undefined): Since | undefined {
  if (text === undefined || text === '') return { kind: 'oldest' };
  if (text === 'now') return { kind: 'now' };
  if (/^\d{1,15}$/.test(text)) return { kind: 'position', position: Number(text) };
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text);
  const at = new Date(text);
  return isTime && !Number.isNaN(at.getTime()) ? { kind: 'time', at } : undefined;
}

// Positions grow with the time but for the length of a transaction: the margin repeats a few changes, and misses none.
const atStatement = prepared(
  'record-events-at',
  `select id from drover.record_events
   where collection_id = $1 and at >= $2::timestamptz - interval '1 minute' and id <= $3 order by id limit 1`,
);

/** Resolves with the position after which the client reads; `reached` is that of the tail. */
export async function positionSince(
  database: Queryable,
  collectionId: string,
  since: Since,
  reached: number,
): Promise<number> {
  if (since.kind === 'position') return since.position;
  if (since.kind === 'now') return reached;
  if (since.kind === 'oldest') return 0;
  const [first] = await database.query<{ id: number }>(atStatement, [collectionId, since.at.toISOString(), reached]);
  return first ? first.id - 1 : reached;
}
