import { newApiKey, type ApiKeyStore, type Authenticator } from '@drover/collection-engine';
import { controlRoutes, mayGrantScope, type ApiKeyId } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { keyWouldOutlive, requestInvalid, scopeNotHeld } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import type { ControlPlaneObservation } from '../observations.js';

export interface ApiKeyHandlersOptions {
  readonly store: ApiKeyStore;
  readonly authenticator: Pick<Authenticator, 'forget'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

export function apiKeyHandlers({
  store,
  authenticator,
  clock,
  randomness,
  observe,
}: ApiKeyHandlersOptions): RouteHandler[] {
  return [
    handle(controlRoutes.getCaller, async ({ caller: { keyId, tenantId, scopes } }) =>
      reply(200, { keyId, tenantId, scopes: [...scopes] }),
    ),
    handle(controlRoutes.listApiKeys, async ({ caller, query }) =>
      reply(200, await store.list(caller.tenantId, query.limit ?? 50, query.after)),
    ),
    handle(controlRoutes.createApiKey, async ({ caller, body }) => {
      const missing = body.scopes.filter((scope) => !mayGrantScope(caller.scopes, scope));
      if (missing.length > 0) throw scopeNotHeld({ scopes: missing });
      if (body.expiresAt !== undefined && !(Date.parse(body.expiresAt) > clock.now())) {
        throw requestInvalid({ problem: `expiresAt ${body.expiresAt} is not in the future` });
      }
      if (caller.expiresAt && !(Date.parse(body.expiresAt ?? '') <= caller.expiresAt.getTime())) {
        throw keyWouldOutlive({ until: caller.expiresAt.toISOString() });
      }
      const { text, parsed } = newApiKey(randomness);
      const key = await store.create(caller.tenantId, parsed, body);
      observe({ kind: 'access.key-changed', keyId: key.id, tenantId: caller.tenantId, change: 'made' });
      return reply(201, { key, secret: text.reveal() });
    }),
    handle(controlRoutes.revokeApiKey, async ({ caller, params }) => {
      await store.revoke(caller.tenantId, params.keyId);
      // Other replicas learn of it from the bus; on this replica the revocation takes effect at once.
      authenticator.forget(params.keyId as ApiKeyId); // the store has just found it
      observe({ kind: 'access.key-changed', keyId: params.keyId, tenantId: caller.tenantId, change: 'revoked' });
      return reply(204, undefined);
    }),
  ];
}
