import { hasCode } from '@drover/contracts';
import { sleep, type Clock, type Lifecycle } from '@drover/service-kit';
import type { Database } from './database.js';

const everyMs = 1_000;
/** The disk is tried once in as many queries, and with every one while it is full. */
const triesOfDisk = 5;

/**
 * Collects 2 MB with less memory than that, so that the server writes a temporary file, which it removes at once. A statement that
 * changes a row would leave a dead one behind each time, and succeeds on a full disk while its page has room. Takes milliseconds.
 */
const collectOnDisk = `select count(*) from unnest(array_fill(repeat('x', 1000), array[2000]))`;

/**
 * Queries the database every second, so that readiness checks need not wait for it, and tries every few seconds whether its disk has
 * room: a server with a full disk still answers queries.
 */
export class DatabaseProbe implements Lifecycle {
  readonly name = 'database probe';
  readonly #database: Pick<Database, 'query' | 'transaction'>;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(database: Pick<Database, 'query' | 'transaction'>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns the error code of the latest query, or that the disk is full; undefined if neither failed. */
  problem(): string | undefined {
    return this.#problem;
  }

  async start(): Promise<void> {
    this.#done = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('probe stopped'));
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let isFull = false;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        if (isFull || round % triesOfDisk === 0) isFull = await this.#isDiskFull();
        else await this.#database.query('select 1');
        this.#problem = isFull ? diskFull : undefined;
      } catch (error) {
        this.#problem = error instanceof Error && 'code' in error ? String(error.code) : 'DATABASE_UNAVAILABLE';
      }
      await sleep(this.#clock, everyMs, signal).catch(() => undefined);
    }
  }

  async #isDiskFull(): Promise<boolean> {
    try {
      await this.#database.transaction(async (tx) => {
        await tx.query(`set local work_mem = '64kB'`);
        await tx.query(collectOnDisk);
      });
      return false;
    } catch (error) {
      if (hasCode(error, 'DATABASE_FULL')) return true;
      // Not about the disk, such as a limit of temporary files: whether the server answers is what counts then.
      await this.#database.query('select 1');
      return false;
    }
  }
}

const diskFull = 'DATABASE_FULL: the disk of the database is full, so nothing can be stored; free space there';
