import type { CollectionDefinition } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type {
  OperationDependencies,
  RecordOperation,
  RecordRequest,
  TenantOperation,
} from '../request/record-operation.js';
import type { RecordAnswer, RequestContext } from '../request/request-context.js';
import {
  createCollectionTables,
  testCollection,
  testContext,
  testDependencies,
  testRequest,
} from '../testing/index.js';

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

  async callTenant(operation: TenantOperation, tenantId: string, request: TestRequest): Promise<TestAnswer> {
    return toTestAnswer(operation(contextOf(tenantId, request), wholeRequest(request), this.dependencies));
  }
}

const wholeRequest = ({ body, shape: _shape, access: _access, ...rest }: TestRequest): RecordRequest =>
  testRequest({
    ...rest,
    ...(body !== undefined && { body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }),
  });

const contextOf = (tenantId: string, { shape = 'flat', access }: TestRequest): RequestContext =>
  testContext({ tenantId, actor: 'key-1', shape, ...(access && { access }) });

interface TestRequest extends Partial<Omit<RecordRequest, 'body'>> {
  readonly body?: unknown;
  readonly shape?: RequestContext['shape'];
  readonly access?: RequestContext['access'];
}

interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into JSON of any shape
  readonly json: any;
  /** Code and source of every problem, or the code of the error. */
  readonly problems: readonly string[];
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
      details?: { problems?: { code: string; source: Record<string, string> }[] };
    };
    if (status === undefined) throw error;
    const problems = details?.problems?.map((each) => `${each.code} ${Object.values(each.source).join()}`);
    return { status, headers: {}, json: { code, message }, problems: problems ?? [code ?? ''] };
  }
}
