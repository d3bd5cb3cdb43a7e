import { Readable } from 'node:stream';
import { controlRoutes, toOpenApi, toYaml, type Route } from '@drover/contracts';
import { schemaVersions, type Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Clock, Health, Sinks } from '@drover/service-kit';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import { whenFirstUsed } from '../http/route-schemas.js';

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
    handle(controlRoutes.getMetrics, async () => reply(200, inPieces(await metrics.page()))),
    handle(controlRoutes.getActuatorHealth, async () =>
      health.isReady()
        ? reply(200, { status: 'UP' as const, groups: ['liveness', 'readiness'] })
        : reply(503, outOfService(health.report())),
    ),
    handle(controlRoutes.getActuatorLiveness, async () => reply(200, { status: 'UP' as const })),
    handle(controlRoutes.getActuatorReadiness, async () =>
      health.isReady() ? reply(200, { status: 'UP' as const }) : reply(503, outOfService(health.report())),
    ),
    handle(controlRoutes.getActuatorPrometheus, async () => reply(200, inPieces(await metrics.page()))),
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

/** Sends a page of many megabytes as fast as the scraper reads it. The framework sends a stream where the route says text. */
function inPieces(pieces: readonly Buffer[]): string {
  return Readable.from(pieces, { objectMode: false }) as unknown as string;
}

function outOfService({ problems }: ReturnType<Health['report']>) {
  const components = Object.entries(problems).map(([name, problem]) => [
    name,
    { status: 'DOWN', details: { problem } },
  ]);
  return {
    status: 'OUT_OF_SERVICE' as const,
    ...(components.length > 0 && { components: Object.fromEntries(components) }),
  };
}

/** Serves the OpenAPI document of exactly the given routes and its own, as JSON and as YAML. */
export function openApiHandlers(version: string, served: readonly Route[]): RouteHandler[] {
  const routes: Route[] = [...served, controlRoutes.getOpenApi, controlRoutes.getOpenApiYaml];
  const info = {
    title: 'Drover',
    version,
    description:
      'Event-driven functions and live data collections on your own machines. In request bodies null stands for a field that is not set.',
  };
  // At start they would take 0.1 s of CPU.
  const document = whenFirstUsed(() => toOpenApi(info, routes));
  const yaml = whenFirstUsed(() => ({ text: toYaml(document()) }));
  return [
    handle(controlRoutes.getOpenApi, async () => reply(200, document())),
    handle(controlRoutes.getOpenApiYaml, async () => reply(200, yaml().text)),
  ];
}
