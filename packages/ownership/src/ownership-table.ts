import { prepared, type Queryable } from '@drover/database';
import type { ReplicaStatus } from './failure-detector.js';

/** A partition, as its row shows it. */
export interface PartitionRow {
  readonly partition: number;
  readonly holder: string | null;
  readonly token: number;
}

/** Replicas and ownership at one moment. */
export interface OwnershipSnapshot {
  readonly replicas: readonly ReplicaStatus[];
  readonly partitions: readonly PartitionRow[];
}

/** A partition under the token that somebody holds it with, or has seen it with. */
export interface HeldPartition {
  readonly partition: number;
  readonly token: number;
}

/** Wakes every replica: something about replicas or ownership has changed. */
export const ownershipChannel = 'drover_homes';

const notify = `pg_notify('${ownershipChannel}', '')`;

/** The key of a replica's lock, in SQL. */
const lockKey = (id: string): string => `hashtextextended('drover.control-plane-replica/' || ${id}, 0)`;

/** Shared: a second connection of the same replica must not wait for a first one that the server still believes in. */
export const lockStatement = `select pg_advisory_lock_shared(${lockKey('$1')})`;

/** Keys of all locks of this kind that are held; 64-bit keys are shown in two halves. */
const heldLocks = `
  select (classid::bigint << 32) | objid::bigint as key from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

const expiry = (ttlMs: string): string => `clock_timestamp() + ${ttlMs} * interval '1 millisecond'`;

const lookStatement = prepared(
  'ownership-look',
  `with held as materialized (${heldLocks})
   select
     (select coalesce(json_agg(json_build_object(
        'id', id, 'url', url, 'draining', draining,
        'expired', expires_at <= clock_timestamp(),
        'present', ${lockKey('id')} in (select key from held)) order by id), '[]')
      from drover.control_plane_replicas) as replicas,
     (select coalesce(json_agg(json_build_object(
        'partition', partition, 'holder', holder, 'token', token) order by partition), '[]')
      from drover.execution_homes) as partitions`,
);

const joinStatement = prepared(
  'ownership-join',
  `with joined as (
     insert into drover.control_plane_replicas as replica (id, url, expires_at) values ($1, $2, ${expiry('$3')})
     on conflict (id) do update
       set url = excluded.url, draining = false, joined_at = excluded.joined_at, expires_at = excluded.expires_at
     returning id)
   select ${notify} from joined`,
);

const renewStatement = prepared(
  'ownership-renew',
  `update drover.control_plane_replicas set expires_at = ${expiry('$2')}
   where id = $1 and expires_at > clock_timestamp() returning id`,
);

const drainStatement = prepared(
  'ownership-drain',
  `with drained as (update drover.control_plane_replicas set draining = true where id = $1 returning id)
   select ${notify} from drained`,
);

const leaveStatement = prepared(
  'ownership-leave',
  `with gone as (delete from drover.control_plane_replicas where id = $1 returning id),
     freed as (update drover.execution_homes set holder = null, token = token + 1
               where holder = $1 returning partition)
   select ${notify} from (select id from gone union all select partition::text from freed) as changes`,
);

// Its row goes first: a renewal that comes at the same moment either is seen here, or finds no row. Its lock is looked at
// once more, for it may be back since.
const evictStatement = prepared(
  'ownership-evict',
  `with held as materialized (${heldLocks}),
     gone as (delete from drover.control_plane_replicas
              where id = any($1::text[])
                and (expires_at <= clock_timestamp() or ${lockKey('id')} not in (select key from held))
              returning id),
     freed as (update drover.execution_homes set holder = null, token = token + 1
               where holder in (select id from gone))
   select id, ${notify} from gone`,
);

// The token is the one that was looked at: of two who want the same partition, one finds it changed. Our own row is locked
// against being evicted meanwhile. Rows that name us without our knowing (an answer was lost) are ours to take anew.
const acquireStatement = prepared(
  'ownership-acquire',
  `with me as materialized (
       select id from drover.control_plane_replicas
       where id = $1 and expires_at > clock_timestamp() and not draining for key share),
     taken as (
       update drover.execution_homes as home set holder = $1, token = home.token + 1
       from unnest($2::integer[], $3::bigint[]) as wanted (partition, token)
       where home.partition = wanted.partition and home.token = wanted.token and exists (select from me)
         and (home.holder is null or home.holder = $1
              or not exists (select from drover.control_plane_replicas as replica where replica.id = home.holder))
       returning home.partition, home.token)
   select partition, token, ${notify} from taken`,
);

const releaseStatement = prepared(
  'ownership-release',
  `with released as (
     update drover.execution_homes as home set holder = null, token = home.token + 1
     from unnest($2::integer[], $3::bigint[]) as mine (partition, token)
     where home.partition = mine.partition and home.token = mine.token and home.holder = $1
     returning home.partition)
   select partition, ${notify} from released`,
);

/** The statements about replicas and ownership. Whether somebody is in time is judged by the server's clock alone. */
export class OwnershipTable {
  readonly #way: Queryable;
  readonly #replicaId: string;

  constructor(way: Queryable, replicaId: string) {
    this.#way = way;
    this.#replicaId = replicaId;
  }

  async look(): Promise<OwnershipSnapshot> {
    const [look] = await this.#way.query<OwnershipSnapshot>(lookStatement);
    return look ?? { replicas: [], partitions: [] };
  }

  async join(url: string, ttlMs: number): Promise<void> {
    await this.#way.query(joinStatement, [this.#replicaId, url, ttlMs]);
  }

  /** False when it came too late. */
  async renew(ttlMs: number): Promise<boolean> {
    return (await this.#way.query(renewStatement, [this.#replicaId, ttlMs])).length > 0;
  }

  async drain(): Promise<void> {
    await this.#way.query(drainStatement, [this.#replicaId]);
  }

  /** Gives everything back. */
  async leave(): Promise<void> {
    await this.#way.query(leaveStatement, [this.#replicaId]);
  }

  /** Takes away what replicas have that are gone; who is back meanwhile is spared. */
  async evict(replicaIds: readonly string[]): Promise<readonly string[]> {
    return (await this.#way.query<{ id: string }>(evictStatement, [replicaIds])).map(({ id }) => id);
  }

  /** Those of the wanted that are ours now, with their new tokens. */
  acquire(wanted: readonly HeldPartition[]): Promise<readonly HeldPartition[]> {
    return this.#way.query<{ partition: number; token: number }>(acquireStatement, this.#values(wanted));
  }

  async release(mine: readonly HeldPartition[]): Promise<void> {
    await this.#way.query(releaseStatement, this.#values(mine));
  }

  #values(list: readonly HeldPartition[]): readonly unknown[] {
    return [this.#replicaId, list.map(({ partition }) => partition), list.map(({ token }) => token)];
  }
}
