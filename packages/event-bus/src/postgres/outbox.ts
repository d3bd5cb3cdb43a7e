import type { NewEvent } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';

const insertStatement = prepared(
  'outbox-insert',
  `insert into drover.outbox (topic, key, generation, payload)
   select topic, key, generation, payload
   from unnest($1::text[], $2::text[], $3::bigint[], $4::jsonb[]) with ordinality as event (topic, key, generation, payload, n)
   order by n`,
);

/** Writes events to the outbox, as part of the transaction of `target`. */
export async function writeToOutbox(target: Queryable, events: readonly NewEvent[]): Promise<void> {
  await target.query(insertStatement, [
    events.map((event) => event.topic.name),
    events.map((event) => event.key),
    events.map((event) => event.generation),
    events.map((event) => JSON.stringify(event.payload)),
  ]);
}
