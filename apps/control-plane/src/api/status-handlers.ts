import { controlRoutes, toOpenApi, type Route } from '@drover/contracts';
import { schemaVersions, type Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Clock, Health, Sinks } from '@drover/service-kit';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

export interface StatusHandlersOptions {
  readonly version: string;
  readonly database: Database;
  readonly bus: EventBus;
  readonly health: Health;
  readonly metrics: Sinks['metrics'];
  readonly clock: Clock;
}

/** Serves health, readiness, metrics and status. */
export function statusHandlers({
  version,
  database,
  bus,
  health,
  metrics,
  clock,
}: StatusHandlersOptions): RouteHandler[] {
  const startedAt = new Date(clock.now()).toISOString();
  return [
    handle(controlRoutes.getHealth, async () => reply(200, { ...health.report() })),
    handle(controlRoutes.getReadiness, async () =>
      health.isReady() ? reply(200, { ...health.report() }) : reply(503, { ...health.report() }),
    ),
    handle(controlRoutes.getMetrics, async () => reply(200, await metrics.metrics())),
    handle(controlRoutes.getStatus, async () => {
      const [schema, lastPosition] = await Promise.all([schemaVersions(database), bus.lastPosition()]);
      return reply(200, {
        version,
        startedAt,
        database: { version: database.serverVersion, schema },
        events: { lastPosition },
      });
    }),
  ];
}

/** Serves the OpenAPI document of exactly the given routes and its own. */
export function openApiHandler(version: string, served: readonly Route[]): RouteHandler {
  const routes: Route[] = [...served, controlRoutes.getOpenApi];
  const info = {
    title: 'Drover',
    version,
    description: 'Event-driven functions and live data collections on your own machines.',
  };
  const document = toOpenApi(info, routes);
  return handle(controlRoutes.getOpenApi, async () => reply(200, document));
}
