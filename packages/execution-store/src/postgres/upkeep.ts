import { prepared, type Database } from '@drover/database';
import type { Clock, Observe } from '@drover/service-kit';
import type { FencingTokens } from '@drover/ownership';
import type { ExecutionStoreObservation } from '../observations.js';
import type { Archive } from './archive.js';
import type { JournalRewrite } from './journal-rewrite.js';
import type { Journal } from './journal.js';
import type { LiveExecutions, Tenure } from './live-executions.js';

export interface UpkeepOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly live: LiveExecutions;
  readonly journal: Journal;
  readonly archive: Archive;
  readonly rewrite: JournalRewrite;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly observe: Observe<ExecutionStoreObservation>;
}

const expireStatement = prepared(
  'executions-expire',
  `select drover.remove_expired_executions($1::integer[], $2::bigint[], $3::timestamptz[], $4, $5) as removed`,
);
const evictStatement = prepared(
  'executions-evict',
  'select evicted_rows, evicted_to, total from drover.evict_execution_payloads($1, $2, $3, $4)',
);
const recountStatement = prepared('executions-recount', 'select drover.recount_execution_bytes($1)');

/** Rows in one statement: few enough that it is over in some ten milliseconds. */
const rowsAtOnce = 1_000;
const longestPauseMs = 5_000;
/** How often to see whether there is something to do. */
const lookMs = 500;
const never = new Date(8_000_000_000_000);
const ever = new Date(0);

/** What has to be done from time to time: see the methods, which run one after the other, never twice at once. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #cancel: () => void = () => undefined;
  #evictedTo = ever;
  #dueAt = 0;
  #dueBytes = 0;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, archive } = this.#options;
    this.#cancel = clock.after(lookMs, () => {
      const isDue = clock.now() >= this.#dueAt || archive.bytesWritten >= this.#dueBytes;
      void (isDue ? this.#run() : Promise.resolve()).finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  /** A whole round from now on, not the rest of one that runs. */
  async run(): Promise<void> {
    await this.#running;
    await this.#run();
  }

  #run(): Promise<void> {
    return (this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
    }));
  }

  async #round(): Promise<void> {
    const { live, journal, rewrite, archive, observe, clock, ttlMs, maxBytes } = this.#options;
    this.#dueAt = clock.now() + Math.min(longestPauseMs, ttlMs / 4);
    // Where much comes in, the bound is looked after more often: it may be exceeded by a few percent.
    this.#dueBytes = archive.bytesWritten + maxBytes / 50;
    live.keepOnly((tenure) => this.#isCurrent(tenure));
    let task = 'see to doubtful writes';
    try {
      await journal.settleDoubts();
      task = 'rewrite the journal';
      await rewrite.run();
      task = 'remove expired executions';
      const expired = await this.#expire();
      task = 'drop payloads';
      const evicted = await this.#evict();
      if (expired + evicted > 0) observe({ kind: 'executions.swept', expired, evicted });
    } catch (error) {
      if (!this.#isStopped) observe({ kind: 'executions.upkeep-failed', task, error });
    }
  }

  /** Each home removes what belongs to its own partitions, since only it knows what the journal still needs. */
  async #expire(): Promise<number> {
    let expired = 0;
    for (let removed = rowsAtOnce; removed === rowsAtOnce && !this.#isStopped; ) {
      removed = await this.#expireSome();
      expired += removed;
    }
    return expired;
  }

  async #expireSome(): Promise<number> {
    const { database, live, clock, archive, ttlMs } = this.#options;
    const now = clock.now();
    // What is being written has half of its time ahead of it, unless writing takes longer than that.
    if (archive.writingSince !== undefined && now - archive.writingSince > ttlMs / 4) return 0;
    const tenures = [...live.tenures].filter((tenure) => this.#isCurrent(tenure));
    if (tenures.length === 0) return 0;
    tenures.sort((a, b) => a.partition - b.partition);
    const [row] = await database.query<{ removed: number }>(expireStatement, [
      tenures.map(({ partition }) => partition),
      tenures.map(({ token }) => token),
      tenures.map((tenure) => clearBefore(tenure)),
      new Date(now),
      rowsAtOnce,
    ]);
    return row?.removed ?? 0;
  }

  /** Any home drops what is oldest, wherever it belongs. */
  async #evict(): Promise<number> {
    const { database, live, maxBytes } = this.#options;
    let evicted = 0;
    while (!this.#isStopped) {
      const own = [...live.tenures].find((tenure) => this.#isCurrent(tenure))?.partition;
      if (own === undefined) break;
      const [row] = await database.query<{ evicted_rows: number; evicted_to: Date | null; total: number | null }>(
        evictStatement,
        [own, maxBytes, this.#evictedTo, rowsAtOnce],
      );
      if (!row || row.total === null) break; // another replica is at it
      evicted += row.evicted_rows;
      if (row.evicted_rows > 0) this.#evictedTo = row.evicted_to ?? ever;
      if (row.total <= maxBytes) break;
      if (row.evicted_rows > 0) continue;
      // Nothing was found behind that point: what there is lies before it, or the sum is wrong.
      if (this.#evictedTo > ever) this.#evictedTo = ever;
      else {
        await database.query(recountStatement, [own]);
        break;
      }
    }
    return evicted;
  }

  #isCurrent({ partition, token }: Tenure): boolean {
    return this.#options.fencingTokens.tokenOf(partition) === token;
  }
}

/** The journal holds no entry of an execution that ended before this. */
function clearBefore({ rows }: Tenure): Date {
  let first = Number.POSITIVE_INFINITY;
  for (const { firstFinishedAt } of rows) first = Math.min(first, firstFinishedAt);
  return Number.isFinite(first) ? new Date(first) : never;
}
