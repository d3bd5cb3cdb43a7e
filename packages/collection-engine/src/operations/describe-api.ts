import { hash } from 'node:crypto';
import { recordsOpenApi } from '../description/records-openapi.js';
import { compileCollection } from '../model/compile-collection.js';
import { matchingEntityTag } from '../respond/documents.js';
import type { TenantOperation } from '../request/record-operation.js';
import type { CollectionStore } from '../store/collection-store.js';

/** GET /api/openapi.json: the OpenAPI 3.1 document of the collections that the caller may read. */
export function describeApiWith(store: Pick<CollectionStore, 'list'>): TenantOperation {
  return async ({ tenantId, access }, { headers }) => {
    const stored = await store.list(tenantId);
    const readable = stored.filter((collection) => access.mayRead(compileCollection(collection)));
    const versions = hash('sha256', readable.map(({ id, version }) => `${id} ${version}`).join('\n'));
    const definitions = readable.map(({ definition }) => definition);
    const body = JSON.stringify(recordsOpenApi(definitions, versions.slice(0, 12)));
    // Of the text itself: it also changes with the release of the platform.
    const etag = `"${hash('sha256', body, 'base64url')}"`;
    // A shared cache must not show one caller the collections of another.
    const common = { etag, 'cache-control': 'private, no-cache' };
    const known = matchingEntityTag(headers['if-none-match'], etag);
    if (known !== undefined) return { status: 304, headers: { ...common, etag: known }, body: undefined };
    return { status: 200, headers: { ...common, 'content-type': 'application/json; charset=utf-8' }, body };
  };
}
