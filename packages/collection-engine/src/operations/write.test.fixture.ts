import type { CollectionDefinition, StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type {
  OperationDependencies,
  RecordOperation,
  RecordRequest,
  TenantOperation,
} from '../request/record-operation.js';
import type { RecordAnswer, RecordContext } from '../request/record-context.js';
import {
  createCollectionTables,
  testCollection,
  testContext,
  testDependencies,
  testRequest,
} from '../testing/index.js';
import { createRecords } from './create-records.js';

/** Collections of one tenant with their tables, and a way to call operations on them. */
export class TestCollections {
  readonly #models: CollectionModel[] = [];
  readonly dependencies: OperationDependencies;

  constructor(database: Database) {
    this.dependencies = testDependencies(database, this.#models);
  }

  async define(definition: CollectionDefinition, tenantId = 'acme'): Promise<CollectionModel> {
    const model = testCollection(definition, { tenantId });
    await createCollectionTables(this.dependencies.database, model);
    this.#models.push(model);
    return model;
  }

  /** Calls an operation; an error becomes the answer that the collection worker would make of it. */
  async call(operation: RecordOperation, collection: CollectionModel, request: TestRequest = {}): Promise<TestAnswer> {
    return toTestAnswer(
      operation(contextOf(collection.tenantId, request), collection, wholeRequest(request), this.dependencies),
    );
  }

  /** Creates one record or an array; returns the body of the answer. */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any shape
  async create(collection: CollectionModel, body: unknown): Promise<any> {
    const { status, json } = await this.call(createRecords, collection, { body });
    if (status !== 201) throw new Error(`The record was not created: ${JSON.stringify(json)}`);
    return json;
  }

  eventsOf(recordId: string): Promise<StoredEvent[]> {
    return this.dependencies.database.query<StoredEvent>(
      'select kind, version, before, after from drover.record_events where record_id = $1 order by id',
      [recordId],
    );
  }

  async callTenant(operation: TenantOperation, tenantId: string, request: TestRequest): Promise<TestAnswer> {
    return toTestAnswer(operation(contextOf(tenantId, request), wholeRequest(request), this.dependencies));
  }
}

const wholeRequest = ({ body, shape: _shape, access: _access, ...rest }: TestRequest): RecordRequest =>
  testRequest({
    ...rest,
    ...(body !== undefined && {
      body: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    }),
  });

const contextOf = (tenantId: string, { shape = 'flat', access }: TestRequest): RecordContext =>
  testContext({ tenantId, actor: 'key-1', shape, ...(access && { access }) });

interface StoredEvent {
  readonly kind: string;
  readonly version: number;
  readonly before: object | null;
  readonly after: object | null;
}

interface TestRequest extends Partial<Omit<RecordRequest, 'body'>> {
  readonly body?: unknown;
  readonly shape?: RecordContext['shape'];
  readonly access?: RecordContext['access'];
}

interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into JSON of any shape
  readonly json: any;
  /** Code and source of every problem, or the code of the error. */
  readonly problems: readonly string[];
  /** Place of an error that is no list of problems. */
  readonly pointer?: string | undefined;
}

async function toTestAnswer(running: Promise<RecordAnswer>): Promise<TestAnswer> {
  try {
    const { status, headers, body } = await running;
    const text = typeof body === 'string' ? body : undefined;
    return { status, headers, json: text === undefined ? undefined : JSON.parse(text), problems: [] };
  } catch (error) {
    const { status, code, details, message } = error as {
      status?: number;
      code?: string;
      message: string;
      details?: { problems?: { code: string; source: Record<string, string> }[]; source?: { pointer?: string } };
    };
    if (status === undefined) throw error;
    const problems = details?.problems?.map((each) => `${each.code} ${Object.values(each.source).join()}`);
    const pointer = details?.source?.pointer;
    return { status, headers: {}, json: { code, message }, problems: problems ?? [code ?? ''], pointer };
  }
}

const customers: CollectionDefinition = {
  name: 'customers',
  fields: [
    { name: 'name', type: 'STRING', required: true, constraints: { maxLength: 20 } },
    { name: 'email', type: 'EMAIL', unique: true },
    { name: 'code', type: 'EXTERNAL_ID', immutable: true },
    { name: 'level', type: 'PICKLIST', values: ['gold', 'silver'], default: 'silver' },
    { name: 'number', type: 'AUTO_NUMBER', autoNumber: { prefix: 'C-', digits: 4 } },
    { name: 'secret', type: 'ENCRYPTED' },
    { name: 'born', type: 'DATE' },
    { name: 'seen', type: 'DATETIME' },
    { name: 'tags', type: 'MULTI_PICKLIST', values: ['a', 'b'] },
    { name: 'meta', type: 'JSON' },
    { name: 'credit', type: 'CURRENCY' },
    { name: 'order', type: 'LONG' },
  ],
};
const orders: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'title', type: 'STRING' },
    { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
    { name: 'follows', type: 'LOOKUP', references: { collection: 'orders' } },
  ],
};
const lines: CollectionDefinition = {
  name: 'lines',
  softDelete: true,
  fields: [
    { name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } },
    { name: 'amount', type: 'INTEGER' },
  ],
};
const guards: CollectionDefinition = {
  name: 'guards',
  fields: [{ name: 'watched', type: 'LOOKUP', required: true, references: { collection: 'customers' } }],
};

const folders: CollectionDefinition = {
  name: 'folders',
  softDelete: true,
  fields: [{ name: 'name', type: 'STRING', unique: true }],
};
const pages: CollectionDefinition = {
  name: 'pages',
  softDelete: true,
  history: true,
  fields: [
    { name: 'folder', type: 'MASTER_DETAIL', required: false, references: { collection: 'folders' } },
    { name: 'title', type: 'STRING' },
    { name: 'secret', type: 'ENCRYPTED' },
    { name: 'price', type: 'CURRENCY' },
  ],
};

/** An id that no record has. */
export const missingId = '0190f3e0-0000-7000-8000-000000000000';

/** Defines all collections of the tests in one storage mode, as those of a tenant of that name. */
export async function defineAll(records: TestCollections, storageMode: StorageMode) {
  const define = (definition: CollectionDefinition): Promise<CollectionModel> =>
    records.define({ ...definition, storageMode }, storageMode);
  return {
    customer: await define(customers),
    order: await define(orders),
    line: await define(lines),
    guard: await define(guards),
    folder: await define(folders),
    page: await define(pages),
  };
}
