export const leaderChannel = 'drover_scale_leader';

/** The key of a holder's liveness lock, in SQL. */
const lockKey = (holder: string): string => `hashtextextended('drover.scale-controller/' || ${holder}, 0)`;

/** Shared, so that a new connection of a holder does not wait for its old one that the server has not given up yet. */
export const livenessStatement = `select pg_advisory_lock_shared(${lockKey('$1')})`;

/** Keys of all advisory locks that are held. `pg_locks` shows a 64-bit key in two halves. */
const heldLocks = `
  select (classid::bigint << 32) | objid::bigint from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

const expiry = (ttlMs: string): string => `clock_timestamp() + ${ttlMs} * interval '1 millisecond'`;

/** Acquires the lease if it is free, expired, or of a process that is gone. */
export const acquireStatement = `
  update drover.scale_leader set holder = $1, token = token + 1, expires_at = ${expiry('$2::double precision')}
  where id = 1 and (holder is null or holder = $1 or expires_at <= clock_timestamp()
    or ${lockKey('holder')} not in (${heldLocks}))
  returning token`;

export const renewStatement = `
  update drover.scale_leader set expires_at = ${expiry('$3::double precision')}
  where id = 1 and holder = $1 and token = $2 returning token`;

export const resignStatement = `
  with resigned as (
    update drover.scale_leader set holder = null where id = 1 and holder = $1 and token = $2 returning id
  )
  select pg_notify('${leaderChannel}', '') from resigned`;
