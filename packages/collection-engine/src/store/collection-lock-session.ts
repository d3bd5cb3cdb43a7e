import type { Database, DedicatedConnection, Queryable, Row, Statement } from '@drover/database';

/**
 * A connection that holds a lock. PostgreSQL releases the lock when the connection ends, so a connection that was made again has lost
 * it: from then on every statement fails.
 */
export class CollectionLockSession implements Queryable {
  readonly #connection: DedicatedConnection;
  readonly #lockName: string;
  #connections = 0;

  constructor(sessions: Pick<Database, 'dedicatedConnection'>, lockName: string) {
    this.#lockName = lockName;
    this.#connection = sessions.dedicatedConnection('schema change');
    this.#connection.onConnected(() => {
      this.#connections += 1;
      return Promise.resolve();
    });
  }

  /** Connects. Returns false if another session holds the lock. */
  async lock(): Promise<boolean> {
    await this.#connection.start();
    const [row] = await this.query<{ held: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 0)) as held', [
      this.#lockName,
    ]);
    return row?.held ?? false;
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    if (this.#connections > 1) throw new Error('the connection broke, and the lock of the collection with it');
    return this.#connection.query<R>(statement, values);
  }

  stop(): Promise<void> {
    return this.#connection.stop();
  }
}
