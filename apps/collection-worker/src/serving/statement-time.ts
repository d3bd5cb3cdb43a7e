import type { RecordDatabase } from '@drover/collection-engine';

/** How long a request has waited for PostgreSQL. Statements that run at the same time count once. */
export class StatementTime {
  readonly #nowMs: () => number;
  #running = 0;
  #sinceMs = 0;
  #totalMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get totalMs(): number {
    return this.#running === 0 ? this.#totalMs : this.#totalMs + this.#nowMs() - this.#sinceMs;
  }

  /** Returns a view of a database whose statements are timed. */
  timed(database: RecordDatabase): RecordDatabase {
    return {
      ...(database.shared && { shared: database.shared }),
      query: (statement, values) => this.#wait(database.query(statement, values)),
      transaction: (work, isolation) => this.#wait(database.transaction(work, isolation)),
      waitFor: (result) => this.#wait(result),
    };
  }

  async #wait<T>(result: Promise<T>): Promise<T> {
    if (this.#running === 0) this.#sinceMs = this.#nowMs();
    this.#running += 1;
    try {
      return await result;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#totalMs += this.#nowMs() - this.#sinceMs;
    }
  }
}
