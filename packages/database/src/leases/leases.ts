import { defineStates } from '@drover/contracts';
import { leaseLost } from '../errors.js';
import type { Database, Transaction } from '../connection/database.js';
import type { DatabaseIo } from '../connection/database-io.js';
import { prepared } from '../connection/statement.js';

/**
 * - held: ours, as far as we can know; renewed in time
 * - released: given back
 * - lost: not renewed in time; somebody else may have it
 */
export const leaseStates = defineStates('lease', { held: ['released', 'lost'], released: [], lost: [] });

/** The right to do something alone, until it is lost. */
export interface Lease {
  readonly name: string;
  /** Grows with every change of holder: whoever writes under a lease hands it along, and older ones are refused. */
  readonly token: number;
  /** Aborts when the lease is lost or released: everything done under it must end then. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

// Expiry is judged by the server's clock alone, so no two clocks have to agree.
const acquireStatement = prepared(
  'lease-acquire',
  `insert into drover.leases as lease (name, holder, token, expires_at)
   values ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
   on conflict (name) do update
     set holder = excluded.holder, token = lease.token + 1, expires_at = excluded.expires_at
     where lease.expires_at <= clock_timestamp()
   returning token`,
);
const renewStatement = prepared(
  'lease-renew',
  `update drover.leases set expires_at = clock_timestamp() + $3 * interval '1 millisecond'
   where name = $1 and token = $2 and expires_at > clock_timestamp() returning token`,
);
const releaseStatement = prepared(
  'lease-release',
  `update drover.leases set expires_at = '-infinity' where name = $1 and token = $2`,
);
const verifyStatement = prepared(
  'lease-verify',
  'select 1 as held from drover.leases where name = $1 and token = $2 and expires_at > clock_timestamp() for share',
);

/** Leases in rows, with fencing tokens: one holder at a time, and a frozen former holder cannot write. */
export class Leases {
  readonly #database: Database;
  readonly #io: DatabaseIo;

  constructor(database: Database, io: DatabaseIo) {
    this.#database = database;
    this.#io = io;
  }

  /** Takes the lease if nobody holds it; renews it until it is released or lost. */
  async tryAcquire(name: string, holder: string, ttlMs: number): Promise<Lease | undefined> {
    const askedAtMs = this.#io.clock.monotonicMs();
    const [row] = await this.#database.query<{ token: number }>(acquireStatement, [name, holder, ttlMs]);
    if (!row) return undefined;
    const lease = new HeldLease(name, row.token, ttlMs, this.#database, this.#io);
    lease.keepUntil(askedAtMs + ttlMs);
    return lease;
  }
}

/** Refuses a write of somebody who lost the lease meanwhile; call it in the transaction of that write. */
export async function requireLease(tx: Transaction, lease: Pick<Lease, 'name' | 'token'>): Promise<void> {
  const rows = await tx.query(verifyStatement, [lease.name, lease.token]);
  if (rows.length === 0) throw leaseLost({ lease: lease.name, token: lease.token });
}

class HeldLease implements Lease {
  readonly #state = leaseStates.start('held', ({ to }) => {
    this.#io.observe({ kind: 'database.lease-moved', lease: this.name, token: this.token, to });
  });
  readonly #over = new AbortController();
  readonly name: string;
  readonly token: number;
  readonly #ttlMs: number;
  readonly #database: Database;
  readonly #io: DatabaseIo;
  #cancelRenewal: () => void = () => undefined;
  #cancelExpiry: () => void = () => undefined;

  constructor(name: string, token: number, ttlMs: number, database: Database, io: DatabaseIo) {
    this.name = name;
    this.token = token;
    this.#ttlMs = ttlMs;
    this.#database = database;
    this.#io = io;
    io.observe({ kind: 'database.lease-moved', lease: name, token, to: 'held' });
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Counts from before the request that won or renewed it, by the clock that never jumps: the server's expiry is always
   * later than ours. A third of the time is left for two more tries.
   */
  keepUntil(untilMs: number): void {
    this.#cancelExpiry();
    this.#cancelExpiry = this.#io.clock.after(untilMs - this.#io.clock.monotonicMs(), () => this.#end('lost'));
    this.#cancelRenewal = this.#io.clock.after(this.#ttlMs / 3, () => void this.#renew());
  }

  async release(): Promise<void> {
    if (!this.#state.is('held')) return;
    this.#end('released');
    // If this does not arrive, the lease expires by itself.
    await this.#database.query(releaseStatement, [this.name, this.token]).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const askedAtMs = this.#io.clock.monotonicMs();
    try {
      const rows = await this.#database.query(renewStatement, [this.name, this.token, this.#ttlMs]);
      if (!this.#state.is('held')) return;
      if (rows.length === 0) this.#end('lost');
      else this.keepUntil(askedAtMs + this.#ttlMs);
    } catch {
      if (this.#state.is('held')) this.#cancelRenewal = this.#io.clock.after(this.#ttlMs / 6, () => void this.#renew());
    }
  }

  #end(how: 'released' | 'lost'): void {
    if (!this.#state.is('held')) return;
    this.#cancelRenewal();
    this.#cancelExpiry();
    this.#state.move(how);
    this.#over.abort(
      how === 'lost'
        ? leaseLost({ lease: this.name, token: this.token })
        : new Error(`lease ${this.name} was released`),
    );
  }
}
