import type { Database } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import { createRecords } from '../operations/create-records.js';
import { getRecord } from '../operations/get-record.js';
import { listRecords } from '../operations/list-records.js';
import { updateRecord } from '../operations/update-records.js';
import { sql, identifier } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { callOperation, testDependencies } from '../testing/index.js';
import type { OperationDependencies, RecordOperation } from '../request/record-operation.js';

/** Milliseconds between requests: 200 per second. */
const intervalMs = 5;
/** A machine that is too slow for the rate gets fewer requests, not ever longer queues. */
const mostRunning = 40;

export interface RequestLoadOptions {
  readonly database: Database;
  /** Reads the current version of the collection. */
  readonly model: () => Promise<CollectionModel>;
  /** One worker for each: how old its definition is allowed to be. */
  readonly lagsMs: readonly number[];
}

/** Requests of clients at a steady rate, answered by workers of which some have the version before the current one. */
export class RequestLoad {
  readonly #options: RequestLoadOptions;
  readonly #workers: {
    model: CollectionModel;
    readAtMs: number;
    dependencies: OperationDependencies;
    lagMs: number;
  }[] = [];
  readonly #running = new Set<Promise<void>>();
  /** Last acknowledged quantity by id. */
  readonly created = new Map<string, number>();
  readonly failures: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #requests = 0;

  constructor(options: RequestLoadOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for (const lagMs of this.#options.lagsMs) {
      const model = await this.#options.model();
      const dependencies = testDependencies(this.#options.database, [model]);
      this.#workers.push({ model, readAtMs: Date.now(), dependencies, lagMs });
    }
    this.#timer = setInterval(() => {
      if (this.#running.size >= mostRunning) return;
      const request = this.#request().catch((error: unknown) => {
        const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
        this.failures.push(`${String(error)}${cause}`);
      });
      this.#running.add(request);
      void request.finally(() => this.#running.delete(request));
    }, intervalMs);
  }

  async stop(): Promise<Pick<RequestLoad, 'created' | 'failures'>> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    return this;
  }

  /** Returns what is stored otherwise than it was acknowledged. */
  async differences(collection: CollectionModel): Promise<readonly string[]> {
    const [quantity, region] = ['quantity', 'region'].map((name) => {
      const field = collection.fields.get(name);
      if (!field) throw new Error(`no field ${name}`);
      return fieldExpression(collection, field, identifier('t'));
    });
    if (!quantity || !region) return ['no fields'];
    const rows = await this.#options.database.query<{ id: string; quantity: number; region: string }>(
      sql`select id, ${quantity} as quantity, ${region} as region from ${tableOf(collection)} as t`.render().text,
    );
    const stored = new Map(rows.map((row) => [row.id, row]));
    return [
      ...[...this.created].flatMap(([id, acknowledged]) =>
        stored.get(id)?.quantity === acknowledged ? [] : [`${id}: ${stored.get(id)?.quantity}, not ${acknowledged}`],
      ),
      // Records of the last version need no region any more.
      ...rows.flatMap((row) =>
        row.region === 'north' || this.created.has(row.id) ? [] : [`${row.id}: ${row.region}`],
      ),
    ];
  }

  async #request(): Promise<void> {
    this.#requests += 1;
    const number = this.#requests;
    const worker = this.#workers[number % this.#workers.length];
    if (!worker) return;
    if (Date.now() - worker.readAtMs > worker.lagMs) {
      worker.readAtMs = Date.now();
      worker.model = await this.#options.model();
      worker.dependencies = testDependencies(this.#options.database, [worker.model]);
    }
    const { model, dependencies } = worker;
    const ids = [...this.created.keys()];
    const id = ids[number % Math.max(1, ids.length)];
    const call = (operation: RecordOperation, request: object): ReturnType<typeof callOperation> =>
      callOperation(operation, model, dependencies, { context: { shape: 'flat' }, ...request });
    if (number % 4 === 0 || id === undefined) {
      const quantity = number;
      const answer = await call(createRecords, { body: body({ number: `n${number}`, quantity }) });
      this.created.set((answer.body as { id: string }).id, quantity);
    } else if (number % 4 === 1 && !this.#updating.has(id)) {
      await this.#update(id, number, call);
    } else if (number % 4 === 2) {
      const answer = await call(getRecord, { id });
      if ((answer.body as { id: string }).id !== id) throw new Error(`${id} was not returned`);
    } else {
      await call(listRecords, { query: `filter[quantity][gte]=${number - 50}&sort=-quantity&page[size]=10` });
    }
  }

  readonly #updating = new Set<string>();

  /** One update of a record at a time, so that the last acknowledged value is known. */
  async #update(
    id: string,
    quantity: number,
    call: (operation: RecordOperation, request: object) => Promise<unknown>,
  ): Promise<void> {
    this.#updating.add(id);
    try {
      await call(updateRecord, { id, body: body({ quantity }) });
      this.created.set(id, quantity);
    } finally {
      this.#updating.delete(id);
    }
  }
}

const body = (record: object): Buffer => Buffer.from(JSON.stringify(record));
