import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import path from 'node:path';
import { AmqpServer } from '../amqp/amqp-server.js';
import type { Entities } from '../entities/entities.js';
import { openEventHubs, type EventHubsEmulator } from '../event-hubs/event-hubs-emulator.js';
import { WorkNotifications } from '../notifications/work-notifications.js';
import type { RunningService, ServiceOptions } from '../running-service.js';
import { startServiceBus, type ServiceBus } from '../service-bus/service-bus.js';
import { developmentCertificate } from '../tls/development-certificate.js';

/** Starts Service Bus and Event Hubs on one port, with the admin REST API beside AMQP. */
export async function startAmqpServices(options: ServiceOptions): Promise<RunningService> {
  const { dataDirectory, entities, createOnFirstUse, maxBytes, warn } = options;
  const bound = maxBytes === undefined ? {} : { maxBytes };
  const directoryOf = (service: string): { readonly directory?: string } =>
    dataDirectory === undefined ? {} : { directory: path.join(dataDirectory, service) };
  const hubs = await openEventHubs({
    hubs: entities.eventHubs,
    createOnFirstUse,
    warn,
    ...bound,
    ...directoryOf('event-hubs'),
  });
  try {
    const bus = await startServiceBus({ entities, createOnFirstUse, ...bound, ...directoryOf('service-bus') });
    try {
      return await serve(bus, hubs, options);
    } catch (error) {
      await bus.stop();
      throw error;
    }
  } catch (error) {
    await hubs.close();
    throw error;
  }
}

async function serve(
  bus: ServiceBus,
  hubs: EventHubsEmulator,
  { host, port, morePorts, dataDirectory, warn }: ServiceOptions,
): Promise<RunningService> {
  // Event Hubs is asked first: it claims fewer addresses.
  const services = [hubs.service, bus.service];
  const notifications = new WorkNotifications({ sources: [hubs.work, bus.work], now: Date.now });
  const tls = developmentCertificate(dataDirectory, Date.now());
  const server = new AmqpServer({
    services,
    http: withHealth(bus.admin),
    onUpgrade: (http, request, socket, head) => notifications.upgrade(http, request, socket, head),
    tls,
    host,
    port,
    morePorts,
    onProblem: warn,
  });
  return {
    port: await server.start(),
    certificate: tls.cert,
    consoles: { 'service-bus': bus.console, 'event-hubs': hubs.console },
    declare: (entities) => declare(bus, hubs, entities, warn),
    stop: async () => {
      await server.stop();
      await Promise.all([bus.stop(), hubs.close()]);
    },
  };
}

/** Answers `GET /health` as Microsoft's emulators do. Requests of the admin API name its version; a queue may be called health. */
function withHealth(admin: RequestListener): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://emulator');
    if (pathname !== '/health' || request.method !== 'GET' || searchParams.has('api-version')) {
      admin(request, response);
      return;
    }
    const body = JSON.stringify({ status: 'healthy', message: 'Service is healthy.' });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  };
}

/** One entity at a time: a name that is taken by another kind must not keep the others from being created. */
async function declare(
  bus: ServiceBus,
  hubs: EventHubsEmulator,
  { queues, topics, eventHubs }: Entities,
  warn: (sentence: string) => void,
): Promise<void> {
  hubs.declare(eventHubs);
  const each = [
    ...queues.map((queue) => ({ queues: [queue], topics: [] })),
    ...topics.map((topic) => ({ queues: [], topics: [topic] })),
  ];
  for (const one of each)
    await bus.declare(one).catch((error: unknown) => warn(error instanceof Error ? error.message : String(error)));
}
