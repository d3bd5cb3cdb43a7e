import type { Caller, RecordAccess, RecordLimits, RecordContext } from '@drover/collection-engine';
import { holdsScope } from '@drover/contracts';
import type { EdgeRequest } from '@drover/http-edge';

/** Returns what operations know of the caller. */
export function contextOf(
  { tenantId, keyId, scopes }: Caller,
  limits: RecordLimits,
  { headers }: EdgeRequest,
  query: string,
): RecordContext {
  return { tenantId, actor: keyId, access: accessOf(scopes), limits, shape: shapeOf(headers.accept, query) };
}

function accessOf(scopes: Caller['scopes']): RecordAccess {
  return {
    mayRead: ({ name }) => holdsScope(scopes, 'records:read', name),
    mayWrite: ({ name }) => holdsScope(scopes, 'records:write', name),
  };
}

const flatParameter = /(?:^|&)shape=flat(?:&|$)/;
const flatType = /application\/json\s*;\s*shape="?flat"?/i;

/** JSON:API documents unless the client asks for plain objects, in the query or with `Accept: application/json;shape=flat`. */
function shapeOf(accept: string | undefined, query: string): RecordContext['shape'] {
  if (query !== '' && flatParameter.test(query)) return 'flat';
  return accept !== undefined && flatType.test(accept) ? 'flat' : 'jsonapi';
}
