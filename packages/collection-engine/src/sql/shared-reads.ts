/** Reads under way at a time: one runs in PostgreSQL while the answer of the other is on its way. */
const maxConcurrent = 2;
const maxKeys = 100;

interface Waiting<Result> {
  readonly key: string;
  readonly resolve: (result: Result | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads what many requests ask for at one moment with one statement. A request that finds fewer than two statements under way is read
 * at once; others wait for the next of these two to end, and are then read together. A request alone is never delayed.
 */
export class SharedReads<Result> {
  readonly #read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>;
  #waiting: Waiting<Result>[] = [];
  #running = 0;

  /** `read` returns what it has found by key. */
  constructor(read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>) {
    this.#read = read;
  }

  get(key: string): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (this.#running < maxConcurrent) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxKeys);
      try {
        const found = await this.#read([...new Set(batch.map(({ key }) => key))]);
        for (const { key, resolve } of batch) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running -= 1;
  }
}
