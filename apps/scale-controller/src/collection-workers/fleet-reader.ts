import { prepared, type Database } from '@drover/database';
import type { CollectionPoolFacts, RegisteredWorker } from './collection-fleet-types.js';

export interface StoredFleet {
  readonly workers: readonly RegisteredWorker[];
  readonly pools: readonly CollectionPoolFacts[];
}

const tableStatement = prepared(
  'collection-fleet-table',
  `select to_regclass('drover.collection_pools') is not null as is_there`,
);

// One statement, hence one snapshot: what a pass has placed is never counted as missing, too.
const fleetStatement = prepared(
  'collection-fleet',
  `with assigned as (
     select w.id, count(a.collection_id)::integer as assigned
     from drover.collection_workers w
     left join drover.collection_assignments a on a.worker_id = w.id and a.status <> 'REMOVED'
     group by w.id),
   pools as (
     select pool, missing, 0 as collections from drover.collection_pools
     union all
     select w.pool, 0, count(distinct a.collection_id)::integer
     from drover.collection_assignments a join drover.collection_workers w on w.id = a.worker_id
     where a.status <> 'REMOVED' group by w.pool)
   select
     (select coalesce(jsonb_agg(jsonb_build_object('workerId', w.id, 'pool', w.pool, 'status', w.status,
        'capacity', w.capacity, 'assigned', s.assigned, 'cpu', coalesce((w.load ->> 'cpu')::double precision, 0))), '[]')
      from drover.collection_workers w join assigned s on s.id = w.id) as workers,
     (select coalesce(jsonb_agg(p), '[]') from (
        select pool, sum(missing)::integer as missing, sum(collections)::integer as collections
        from pools group by pool) p) as pools`,
);

/** Reads what the control plane, which alone writes it, has stored of collection workers. */
export class FleetReader {
  readonly #database: Pick<Database, 'query'>;
  #hasTables = false;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /** Returns undefined while the control plane has not created its tables. */
  async read(): Promise<StoredFleet | undefined> {
    if (!this.#hasTables) {
      const [table] = await this.#database.query<{ is_there: boolean }>(tableStatement);
      if (!table?.is_there) return undefined;
      this.#hasTables = true;
    }
    const [row] = await this.#database.query<StoredFleet>(fleetStatement);
    return row;
  }
}
