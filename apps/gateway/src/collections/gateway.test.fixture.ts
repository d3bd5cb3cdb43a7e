import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FastLane, type CorsPolicy } from '@drover/http-edge';
import { systemClock, systemRandomness, type Clock } from '@drover/service-kit';
import { CollectionEndpoints } from '../endpoints/collection-endpoints.js';
import { EndpointWatch } from '../endpoints/endpoint-watch.js';
import type { CollectionFrontObservation } from '../observations.js';
import { defaultEndpointPolicy } from '../picking/endpoint.js';
import type { RoutedCollection } from '../routes/collection-routes.js';
import { CollectionProxy } from './collection-proxy.js';

export const closing: (() => Promise<unknown>)[] = [];

/** Each file has to register it: files share this module. */
export async function closeAll(): Promise<void> {
  await Promise.all(closing.splice(0).map((close) => close()));
}

export const laneLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  requestBytes: 65_536,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
};

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A worker that answers with its name, and keeps the requests that it has seen. */
export async function worker(name: string, serve?: RequestListener) {
  const seen: IncomingMessage[] = [];
  const url = await listen(
    createServer((incoming, response) => {
      seen.push(incoming);
      if (serve) serve(incoming, response);
      else incoming.resume().once('end', () => response.end(name));
    }),
  );
  return { name, url, seen };
}

/** A worker that takes the whole request and then resets the connection. */
export async function resettingWorker() {
  const seen: string[] = [];
  const url = await listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        seen.push(String(bytes));
        socket.resetAndDestroy();
      });
    }),
  );
  return { name: 'resetting', url, seen };
}

/** An address at which nothing listens. */
export async function closedUrl(): Promise<string> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise((resolve) => server.close(resolve));
  return url;
}

export type Lane = 'fast lane' | "Node's server";

interface GatewayOptions {
  readonly holdMs?: number;
  readonly maxInFlight?: number;
  readonly recordsBodyBytes?: number;
  readonly clock?: Clock;
  readonly socketDirectory?: string;
  readonly cors?: CorsPolicy;
  /** Serve other collections of the tenant. */
  readonly spares?: readonly { readonly name: string; readonly url: string }[];
}

/** A gateway for the collection `orders` of one tenant. A request tries the first of the workers first. */
export async function gateway(
  lane: Lane,
  named: readonly { readonly name: string; readonly url: string }[],
  {
    holdMs = 0,
    maxInFlight = 1_024,
    recordsBodyBytes = 10_485_760,
    clock = systemClock,
    socketDirectory,
    cors,
    spares = [],
  }: GatewayOptions = {},
) {
  const watch = new EndpointWatch({ clock, timeoutMs: 30_000 });
  const policy = { ...defaultEndpointPolicy, maxInFlight };
  const endpoints = new CollectionEndpoints({ policy, socketDirectory, clock, onBusy: watch.watch });
  const resolve = (workers: typeof named, generation: number): RoutedCollection => ({
    generation,
    endpoints: endpoints.acquire(workers.map(({ name, url }) => ({ workerId: name, url }))),
  });
  const routes = {
    hasWorkers: true,
    route: named.length === 0 ? undefined : resolve(named, 7),
    afterRefresh: undefined as RoutedCollection | undefined,
    find: () => routes.route,
    findForTenant: () => routes.route ?? { generation: 0, endpoints: [] },
    findOwn: () => resolve(spares, 0),
    refresh: async () => void (routes.route = routes.afterRefresh ?? routes.route),
    catchUp: async () => undefined,
    onChange: undefined as ((collectionId: string | undefined) => void) | undefined,
  };
  const target = { tenantId: 'default', collectionId: 'id-of-orders' };
  const observed: string[] = [];
  const refused: Extract<CollectionFrontObservation, { readonly kind: 'gateway.refused' }>[] = [];
  const proxy = new CollectionProxy({
    clock,
    randomness: { ...systemRandomness, fraction: () => 0 },
    observe: (observation) => {
      observed.push(observation.kind);
      if (observation.kind === 'gateway.refused') refused.push(observation);
    },
    collectionWorkerUrl: undefined,
    collectionWorkerUrlFile: undefined,
    holdMs,
    maxHeldRequests: 2,
    recordsBodyBytes,
    cors,
    routes,
    names: {
      isEmpty: false,
      targetsOf: () => ({ get: () => target }) as unknown as ReadonlyMap<string, typeof target>,
      namesOf: () => ['orders'],
      lookUp: async () => target,
    },
    authenticator: { authenticateCached: () => undefined, authenticate: async () => ({ refused: 'unknown' }) },
    functions: { serve: () => false, serveFastLane: () => false },
  });
  const server = createServer((incoming, response) => {
    response.setHeader('x-handed-over', '1');
    proxy.serve(incoming, response);
  });
  const url = await listen(server);
  closing.push(async () => {
    watch.stop();
    await proxy.stop();
    await endpoints.close();
  });
  if (lane === 'fast lane') {
    const fastLane = new FastLane(server, { limits: laneLimits, clock: systemClock, serve: proxy.serveFastLane });
    closing.push(async () => fastLane.close());
  }
  const change = (workers: typeof named, generation: number) => {
    routes.route = resolve(workers, generation);
    routes.onChange?.(target.collectionId);
  };
  return { url, routes, resolve, change, endpoints, observed, refused };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly path?: string;
}

/** The fast lane leaves requests with `connection: close` to Node's server. */
export function keptConnections(): Agent {
  const agent = new Agent({ keepAlive: true });
  closing.push(async () => agent.destroy());
  return agent;
}

/** Returns status and body; "broken" if the connection broke before the end of the answer. */
export async function send(url: string, { method = 'GET', headers = {}, body, path = '/api/orders' }: Sent = {}) {
  const outgoing = request(`${url}${path}`, { method, headers, agent: keptConnections() });
  outgoing.end(body);
  try {
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of incoming) text += String(chunk);
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    return { status: incoming.statusCode, text: code ?? text, headers: incoming.headers };
  } catch {
    return { status: 0, text: 'broken', headers: {} };
  }
}
export const shown = async (sent: ReturnType<typeof send>) => {
  const { status, text } = await sent;
  return `${status} ${text}`;
};
