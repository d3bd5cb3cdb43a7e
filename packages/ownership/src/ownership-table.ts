import { prepared, type Queryable } from '@drover/database';
import type { ReplicaStatus } from './failure-detector.js';

/** A row of the table of partitions. */
export interface PartitionRow {
  readonly partition: number;
  readonly holder: string | null;
  readonly token: number;
}

/** All replicas and partitions at one moment. */
export interface OwnershipSnapshot {
  readonly replicas: readonly ReplicaStatus[];
  readonly partitions: readonly PartitionRow[];
}

/** A partition and the fencing token under which it is owned, or was seen. */
export interface HeldPartition {
  readonly partition: number;
  readonly token: number;
}

/** Notifies every replica of a change of replicas or owners. */
export const ownershipChannel = 'drover_homes';

const notify = `pg_notify('${ownershipChannel}', '')`;

/** The key of a replica's liveness lock, in SQL. */
const lockKey = (id: string): string => `hashtextextended('drover.control-plane-replica/' || ${id}, 0)`;

/** Shared, so that a new connection of a replica does not wait for its old one that the server has not given up yet. */
export const lockStatement = `select pg_advisory_lock_shared(${lockKey('$1')})`;

/** Keys of all advisory locks that are held. `pg_locks` shows a 64-bit key in two halves. */
const heldLocks = `
  select (classid::bigint << 32) | objid::bigint as key from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

const expiry = (ttlMs: string): string => `clock_timestamp() + ${ttlMs} * interval '1 millisecond'`;

const readStatement = prepared(
  'ownership-read',
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

// The row is deleted first: a concurrent renewal is either seen here or finds no row. The lock is checked once more, because the
// replica may have reconnected since.
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

// The token must be the one that was read: of two replicas that want the same partition, one finds it changed. The row of this
// replica is locked against a concurrent eviction. A row that names this replica without its knowledge (an answer was lost) is
// acquired again.
const acquireStatement = prepared(
  'ownership-acquire',
  `with me as materialized (
       select id from drover.control_plane_replicas
       where id = $1 and expires_at > clock_timestamp() and not draining for key share),
     taken as (
       update drover.execution_homes as owned set holder = $1, token = owned.token + 1
       from unnest($2::integer[], $3::bigint[]) as wanted (partition, token)
       where owned.partition = wanted.partition and owned.token = wanted.token and exists (select from me)
         and (owned.holder is null or owned.holder = $1
              or not exists (select from drover.control_plane_replicas as replica where replica.id = owned.holder))
       returning owned.partition, owned.token)
   select partition, token, ${notify} from taken`,
);

const releaseStatement = prepared(
  'ownership-release',
  `with released as (
     update drover.execution_homes as owned set holder = null, token = owned.token + 1
     from unnest($2::integer[], $3::bigint[]) as held (partition, token)
     where owned.partition = held.partition and owned.token = held.token and owned.holder = $1
     returning owned.partition)
   select partition, ${notify} from released`,
);

/** The statements about replicas and partitions. Only the server's clock decides whether a lease has expired. */
export class OwnershipTable {
  readonly #connection: Queryable;
  readonly #replicaId: string;

  constructor(connection: Queryable, replicaId: string) {
    this.#connection = connection;
    this.#replicaId = replicaId;
  }

  async read(): Promise<OwnershipSnapshot> {
    const [snapshot] = await this.#connection.query<OwnershipSnapshot>(readStatement);
    return snapshot ?? { replicas: [], partitions: [] };
  }

  /** Adds this replica, or renews its row after it was evicted. */
  async join(url: string, ttlMs: number): Promise<void> {
    await this.#connection.query(joinStatement, [this.#replicaId, url, ttlMs]);
  }

  /** Returns false when the lease had expired or the row is gone. */
  async renew(ttlMs: number): Promise<boolean> {
    return (await this.#connection.query(renewStatement, [this.#replicaId, ttlMs])).length > 0;
  }

  /** Announces that this replica acquires no more partitions. */
  async drain(): Promise<void> {
    await this.#connection.query(drainStatement, [this.#replicaId]);
  }

  /** Deletes this replica and releases all its partitions. */
  async leave(): Promise<void> {
    await this.#connection.query(leaveStatement, [this.#replicaId]);
  }

  /** Deletes failed replicas and releases their partitions. Returns those it deleted: a replica that is back is spared. */
  async evict(replicaIds: readonly string[]): Promise<readonly string[]> {
    return (await this.#connection.query<{ id: string }>(evictStatement, [replicaIds])).map(({ id }) => id);
  }

  /** Returns the partitions that this replica owns now, with their new tokens. */
  acquire(wanted: readonly HeldPartition[]): Promise<readonly HeldPartition[]> {
    return this.#connection.query<{ partition: number; token: number }>(acquireStatement, this.#values(wanted));
  }

  async release(held: readonly HeldPartition[]): Promise<void> {
    await this.#connection.query(releaseStatement, this.#values(held));
  }

  #values(held: readonly HeldPartition[]): readonly unknown[] {
    return [this.#replicaId, held.map(({ partition }) => partition), held.map(({ token }) => token)];
  }
}
