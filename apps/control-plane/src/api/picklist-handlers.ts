import { picklistRoutes } from '@drover/contracts';
import type { Picklists } from '../collections/picklists.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

export function picklistHandlers(picklists: Picklists): RouteHandler[] {
  return [
    handle(picklistRoutes.listPicklists, async ({ caller }) => reply(200, { picklists: await picklists.list(caller) })),
    handle(picklistRoutes.getPicklist, async ({ caller, params }) =>
      reply(200, await picklists.get(caller, params.picklist)),
    ),
    handle(picklistRoutes.putPicklist, async ({ caller, params, body }) => {
      const { view, isDone } = await picklists.put(caller, params.picklist, body);
      return isDone ? reply(200, view) : reply(202, view);
    }),
    handle(picklistRoutes.deletePicklist, async ({ caller, params }) => {
      await picklists.remove(caller, params.picklist);
      return reply(204, undefined);
    }),
  ];
}
