import { hostname } from 'node:os';
import { prepared, type DedicatedConnection, type Queryable } from '@drover/database';
import type { Randomness } from '@drover/service-kit';

/** First key of the locks of all members; PostgreSQL shows both keys in `pg_locks`. */
export const memberLockClass = 1_685_221_238;
/** A session that PostgreSQL still takes for alive may have been replaced by several others. */
const maxNumbers = 8;

const joinStatement = prepared('bus-member-join', `select pg_advisory_lock(${memberLockClass}, $1)`);
const leaveStatement = prepared('bus-member-leave', `select pg_advisory_unlock(${memberLockClass}, $1)`);

/**
 * Makes a process with a bus known to all others on the same database, for as long as its session lives: a session lock whose second
 * key is the number of the member. PostgreSQL drops it with the session, so a process that was killed is no member any more, and no
 * heartbeat is needed. The name of the session, which `pg_stat_activity` shows, tells which process it is.
 */
export class BusMember {
  readonly #randomness: Randomness;
  readonly #numbers: number[] = [];
  #hasLeft = false;

  constructor(randomness: Randomness) {
    this.#randomness = randomness;
  }

  /** The numbers of the sessions that this process has had, the current one last. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  /** Joins with a new session. */
  async join(session: Queryable): Promise<void> {
    if (this.#hasLeft) return;
    // 31 bits, as a lock has signed keys.
    const number = this.#randomness.bytes(4).readUInt32BE() >>> 1;
    await session.query(`select set_config('application_name', current_setting('application_name') || $1, false)`, [
      ` of ${process.pid}@${hostname()}`,
    ]);
    // Its statements are reads, locks and notifications: none needs to wait for the disk.
    await session.query('set synchronous_commit = off');
    await session.query(joinStatement, [number]);
    this.#numbers.push(number);
    if (this.#numbers.length > maxNumbers) this.#numbers.shift();
  }

  /** Others do not wait for this process any more. */
  async leave(connection: DedicatedConnection): Promise<void> {
    this.#hasLeft = true;
    if (connection.connected)
      await connection.query(leaveStatement, [this.#numbers.at(-1) ?? 0]).catch(() => undefined);
  }
}

/** Returns role and process of a member by the name of its session. */
export function memberName(applicationName: string | null, number: number): string {
  const [, role, place] = /^(?:drover )?(.*) subscribers of (.*)$/.exec(applicationName ?? '') ?? [];
  return role === undefined ? `a process of another database user (member ${number})` : `${role} ${place}`;
}
