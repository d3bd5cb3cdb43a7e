import { controlRoutes } from '@drover/contracts';
import type { Observe, Randomness } from '@drover/service-kit';
import { scopeNotHeld, requestInvalid } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import type { ControlPlaneObservation } from '../observations.js';
import { newApiKey } from './api-key-format.js';
import type { ApiKeyStore } from './api-key-store.js';

export function apiKeyHandlers(
  store: ApiKeyStore,
  { randomness, observe }: { readonly randomness: Randomness; readonly observe: Observe<ControlPlaneObservation> },
): RouteHandler[] {
  return [
    handle(controlRoutes.getCaller, async ({ caller }) => reply(200, { ...caller, scopes: [...caller.scopes] })),
    handle(controlRoutes.listApiKeys, async ({ caller, query }) =>
      reply(200, await store.list(caller.tenantId, query.limit ?? 50, query.after)),
    ),
    handle(controlRoutes.createApiKey, async ({ caller, body }) => {
      const missing = body.scopes.filter((scope) => !caller.scopes.includes(scope));
      if (missing.length > 0) throw scopeNotHeld({ scopes: missing });
      if (body.expiresAt !== undefined && !(Date.parse(body.expiresAt) > Date.now())) {
        throw requestInvalid({ problem: `expiresAt ${body.expiresAt} is not in the future` });
      }
      const { text, parsed } = newApiKey(randomness);
      const key = await store.create(caller.tenantId, parsed, body);
      observe({ kind: 'access.key-changed', keyId: key.id, tenantId: caller.tenantId, change: 'made' });
      return reply(201, { key, secret: text.reveal() });
    }),
    handle(controlRoutes.revokeApiKey, async ({ caller, params }) => {
      await store.revoke(caller.tenantId, params.keyId);
      observe({ kind: 'access.key-changed', keyId: params.keyId, tenantId: caller.tenantId, change: 'revoked' });
      return reply(204, undefined);
    }),
  ];
}
