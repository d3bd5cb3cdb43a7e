interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any shape
  readonly body: any;
}
export type RecordsCall = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** A request that had no answer, or another one than success. */
export interface FailedRequest {
  readonly method: string;
  readonly path: string;
  /** 0 without an answer. */
  readonly status: number;
  readonly detail: string;
}

/** 200 requests per second. */
const intervalMs = 5;
/** Requests that wait for an answer at a time, at most. */
const mostRunning = 40;

let loads = 0;

/**
 * Requests of clients at a steady rate, and what was acknowledged: creations, changes, reads and lists of records with a unique
 * `number` and a `quantity`. A machine that is too slow for the rate sends them later.
 */
export class SteadyClients {
  readonly #call: RecordsCall;
  readonly #names: readonly string[];
  readonly #running = new Set<Promise<void>>();
  /** Last acknowledged quantity by path. */
  readonly acknowledged = new Map<string, number>();
  readonly failures: FailedRequest[] = [];
  readonly #startedMs = performance.now();
  readonly #prefix = `load ${(loads += 1)} `;
  #sent = 0;
  #answered = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(call: RecordsCall, names: readonly string[]) {
    this.#call = call;
    this.#names = names;
    this.#timer = setInterval(() => this.#sendUpTo(this.#due), intervalMs);
  }

  /** Requests that had success. */
  get answered(): number {
    return this.#answered;
  }

  /** Requests that the rate has had since the start. */
  get #due(): number {
    return Math.floor((performance.now() - this.#startedMs) / intervalMs);
  }

  /** Ends the load when the requests that were sent are answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  /** Ends the load when all requests of its rate until now are answered. Returns how many these are. */
  async complete(): Promise<number> {
    clearInterval(this.#timer);
    const due = this.#due;
    while (this.#sent < due) {
      this.#sendUpTo(due);
      await Promise.race(this.#running);
    }
    await Promise.all(this.#running);
    return due;
  }

  #sendUpTo(due: number): void {
    while (this.#sent < due && this.#running.size < mostRunning) {
      const request = this.#request().catch(() => undefined); // in the list of failures
      this.#running.add(request);
      void request.finally(() => this.#running.delete(request));
    }
  }

  async #request(): Promise<void> {
    this.#sent += 1;
    const number = this.#sent;
    const name = this.#names[number % this.#names.length] ?? '';
    const turn = Math.floor(number / this.#names.length) % 4;
    const paths = [...this.acknowledged.keys()];
    const path = paths[number % Math.max(1, paths.length)];
    if (turn === 0 || path === undefined) {
      const { id } = (await this.#succeed('POST', `/api/${name}`, { number: this.#prefix + number, quantity: number }))
        .body.data;
      this.acknowledged.set(`/api/${name}/${id}`, number);
    } else if (turn === 1) {
      // No other request changes it meanwhile. If it fails, its effect is not known.
      this.acknowledged.delete(path);
      await this.#succeed('PATCH', path, { quantity: number });
      this.acknowledged.set(path, number);
    } else if (turn === 2) {
      await this.#succeed('GET', path);
    } else {
      await this.#succeed('GET', `/api/${name}?filter[quantity][gte]=${number - 20}&sort=-quantity&page[size]=5`);
    }
  }

  async #succeed(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.#call(method, path, body).catch((error: unknown) => ({ status: 0, body: String(error) }));
    const { status } = answer;
    if (status < 200 || status >= 300) {
      const detail = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      this.failures.push({ method, path, status, detail });
      throw new Error(detail);
    }
    this.#answered += 1;
    return answer;
  }
}
