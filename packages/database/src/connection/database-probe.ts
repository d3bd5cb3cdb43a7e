import { hasCode } from '@drover/contracts';
import { deadlineAfter, sleep, type Clock, type Lifecycle } from '@drover/service-kit';
import { databaseUnavailable } from '../errors.js';
import type { Database } from './database.js';

const everyMs = 1_000;
/** While there is a problem, so that its end is noticed soon. */
const retryMs = 250;
/** A server that takes longer for nothing is frozen, cut off or overloaded. */
const answerWithinMs = 2_000;
/** The disk is tried once in as many queries, and with every one while it is full. */
const triesOfDisk = 5;

/**
 * Collects 2 MB with less memory than that, so that the server writes a temporary file, which it removes at once. A statement that
 * changes a row would leave a dead one behind each time, and succeeds on a full disk while its page has room. Takes milliseconds.
 */
const collectOnDisk = `select count(*) from unnest(array_fill(repeat('x', 1000), array[2000]))`;

/** The connection of a query without an answer is closed: the next one opens another. */
const ping = { text: 'select 1', timeoutMs: answerWithinMs };

/**
 * Queries the database every second, so that readiness checks need not wait for it, and tries every few seconds whether its disk has
 * room: a server with a full disk still answers queries. A query without an answer counts as failed after two seconds: a frozen server
 * keeps its connections open.
 */
export class DatabaseProbe implements Lifecycle {
  readonly name = 'database probe';
  readonly #database: Pick<Database, 'query' | 'transaction'>;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #problem: string | undefined;
  #isDiskFull = false;

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
    for (let round = 0; !signal.aborted; round += 1) {
      this.#problem = await this.#check(round);
      const pauseMs = this.#problem === undefined ? everyMs : retryMs;
      await sleep(this.#clock, pauseMs, signal).catch(() => undefined);
    }
  }

  async #check(round: number): Promise<string | undefined> {
    // A transaction cannot be given up: it is not tried with a server that did not answer.
    const triesDisk = this.#isDiskFull || (this.#problem === undefined && round % triesOfDisk === 0);
    try {
      if (triesDisk) this.#isDiskFull = await this.#within(this.#tryDisk());
      else await this.#within(this.#database.query(ping));
      return this.#isDiskFull ? diskFull : undefined;
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : databaseUnavailable.code;
    }
  }

  /** Rejects if there is no answer in time; what comes later is ignored. */
  async #within<T>(answer: Promise<T>): Promise<T> {
    const limit = deadlineAfter(this.#clock, answerWithinMs, this.#closing.signal);
    const expired = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error('The database did not answer in time.'));
      if (limit.signal.aborted) fail();
      else limit.signal.addEventListener('abort', fail, { once: true });
    });
    try {
      return await Promise.race([answer, expired]);
    } finally {
      limit.cancel();
    }
  }

  /** Returns whether the disk is full. */
  async #tryDisk(): Promise<boolean> {
    try {
      await this.#database.transaction(async (tx) => {
        await tx.query(`set local work_mem = '64kB'`);
        await tx.query(collectOnDisk);
      });
      return false;
    } catch (error) {
      if (hasCode(error, 'DATABASE_FULL')) return true;
      // Not about the disk, such as a limit of temporary files: whether the server answers is what counts then.
      await this.#database.query(ping);
      return false;
    }
  }
}

const diskFull = 'DATABASE_FULL: the disk of the database is full, so nothing can be stored; free space there';
