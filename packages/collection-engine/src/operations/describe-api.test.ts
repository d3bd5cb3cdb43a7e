import { describe, expect, it } from 'vitest';
import { shopDefinitions } from '../description/shop.test.fixture.js';
import type { OperationDependencies, RecordRequest } from '../request/record-operation.js';
import { defaultRecordLimits, type RecordContext } from '../request/record-context.js';
import type { CatalogedCollection } from '../store/collection-rows.js';
import { describeApiWith } from './describe-api.js';

const at = new Date(0);
const collections = (version: number): CatalogedCollection[] =>
  shopDefinitions.map((definition) => ({
    id: definition.name,
    tenantId: 't',
    version,
    definition,
    table: definition.name,
    columns: {},
    createdAt: at,
    createdBy: 'k',
    updatedAt: at,
    updatedBy: 'k',
  }));

async function ask(version: number, headers: RecordRequest['headers'] = {}, readable?: string) {
  const context: RecordContext = {
    tenantId: 't',
    actor: 'k',
    access: { mayRead: ({ name }) => readable === undefined || name === readable, mayWrite: () => false },
    limits: defaultRecordLimits,
    shape: 'jsonapi',
  };
  const describeApi = describeApiWith({ list: () => Promise.resolve(collections(version)) });
  const request = { headers } as RecordRequest; // all that it reads
  const { status, headers: answered, body } = await describeApi(context, request, {} as OperationDependencies);
  const document = typeof body === 'string' ? (JSON.parse(body) as { paths: object; openapi: string }) : undefined;
  return { status, etag: answered['etag'], document };
}

describe('describeApi', () => {
  it('describes the collections that the caller may read, and no others', async () => {
    const { status, document } = await ask(1, {}, 'orders');
    expect(status).toBe(200);
    expect(document?.openapi).toBe('3.1.0');
    const paths = Object.keys(document?.paths ?? {});
    expect(paths).toContain('/api/orders');
    expect(paths.filter((path) => path.startsWith('/api/customers'))).toEqual([]);
  });

  it('is sent again only after a definition has changed', async () => {
    const { etag = '' } = await ask(1);
    expect(await ask(1, { 'if-none-match': `"other", W/${etag}` })).toEqual({ status: 304, etag, document: undefined });
    expect(await ask(2, { 'if-none-match': etag })).toMatchObject({ status: 200 });
    expect(await ask(1, { 'if-none-match': etag }, 'orders')).toMatchObject({ status: 200 });
  });
});
