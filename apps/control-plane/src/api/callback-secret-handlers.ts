import { functionRoutes } from '@drover/contracts';
import type { CallbackSecrets } from '../callbacks/callback-secrets.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

/** Serves the secrets that sign callbacks. */
export function callbackSecretHandlers(secrets: CallbackSecrets): RouteHandler[] {
  return [
    handle(functionRoutes.listCallbackSecrets, async ({ caller: { tenantId } }) =>
      reply(200, { secrets: await secrets.list(tenantId) }),
    ),
    handle(functionRoutes.createCallbackSecret, async ({ caller: { tenantId }, body }) =>
      reply(201, await secrets.create(tenantId, body)),
    ),
    handle(functionRoutes.deleteCallbackSecret, async ({ caller: { tenantId }, params: { secretId } }) => {
      await secrets.remove(tenantId, secretId);
      return reply(204, undefined);
    }),
  ];
}
