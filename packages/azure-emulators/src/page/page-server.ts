import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Emulators } from '../emulators.js';
import type { EntityConsole, TypedMessage } from '../entity-console.js';
import type { StorageView } from '../storage-view.js';
import { pageCss, pageHtml, pageScript } from './page-assets.js';
import { refusePageRequest } from './request-guard.js';

/** The running page of the emulators. */
export interface EmulatorsPage {
  readonly url: string;
  stop(): Promise<void>;
}

type Shown = Pick<Emulators, 'status' | 'consoles' | 'connectionStrings' | 'certificate' | 'storage'>;

const loopback = '127.0.0.1';
/** A send of more is refused: the page is for messages that a person types. */
const maxRequestBytes = 1_048_576;
const messagesPerPage = 50;

const assets: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/': { type: 'text/html; charset=utf-8', text: pageHtml },
  '/page.css': { type: 'text/css; charset=utf-8', text: pageCss },
  '/page.js': { type: 'text/javascript; charset=utf-8', text: pageScript },
};

const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * Serves the page on loopback only. Rejects with the error of `listen` if the port is in use. Several emulators may be shown, and
 * more may be added to the list while the page runs.
 */
export async function startEmulatorsPage(shown: () => readonly Shown[], port: number): Promise<EmulatorsPage> {
  const server = http.createServer({ requestTimeout: 10_000 }, (request, response) => {
    answer(shown(), portOf(server), request).then(
      (result) => write(response, result),
      (error: unknown) => write(response, failed(error)),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, loopback, resolve);
  });
  return {
    url: `http://localhost:${portOf(server)}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface PageAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** A mistake of the caller. */
class BadRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(shown: readonly Shown[], port: number, request: IncomingMessage): Promise<PageAnswer> {
  const { method = 'GET', url = '/', headers } = request;
  const refusal = refusePageRequest(
    {
      method,
      host: headers.host,
      origin: headers.origin,
      site: headers['sec-fetch-site']?.toString(),
      contentType: headers['content-type'],
    },
    port,
  );
  if (refusal !== undefined) throw new BadRequest(403, refusal);
  const { pathname, searchParams } = new URL(url, 'http://page');
  const asset = assets[pathname];
  if (method === 'GET' && asset) return { status: 200, ...asset };
  if (method === 'GET' && pathname === '/certificate.pem') return certificateOf(shown);
  if (method === 'GET' && pathname === '/api/entities') return json(listEntities(shown));
  if (method === 'GET' && pathname === '/api/messages') return json(await listMessages(shown, searchParams));
  if (method === 'GET' && pathname === '/api/storage') return json(await listStorage(shown, searchParams));
  if (method === 'GET' && pathname === '/api/items') return json(await listItems(shown, searchParams));
  if (method === 'GET' && pathname === '/api/content') return json(await readContent(shown, searchParams));
  const change = method === 'POST' ? changes[pathname] : undefined;
  if (!change) throw new BadRequest(404, `${method} ${pathname} does not exist.`);
  return json(await change(shown, await readJson(request)));
}

/** The certificate that clients must trust to use TLS. */
function certificateOf(shown: readonly Shown[]): PageAnswer {
  const text = shown.flatMap(({ certificate }) => certificate ?? []).join('');
  if (text === '') throw new BadRequest(404, 'Service Bus and Event Hubs do not run: there is no certificate.');
  return { status: 200, type: 'application/x-pem-file', text };
}

function listEntities(shown: readonly Shown[]): unknown {
  const connections = shown.flatMap(({ connectionStrings: { serviceBus, storage } }) => [
    ...(serviceBus === undefined ? [] : [`Service Bus, Event Hubs  ${serviceBus}`]),
    ...(storage === undefined ? [] : [`Storage  ${storage}`]),
  ]);
  return { entities: shown.flatMap((emulators) => emulators.status()), connections };
}

async function listMessages(shown: readonly Shown[], query: URLSearchParams): Promise<unknown> {
  const entity = query.get('entity') ?? '';
  const after = query.get('after');
  const messages = await consoleOf(shown, query.get('service'), entity).peek(entity, {
    deadLetters: query.get('deadLetters') === 'true',
    ...(after !== null && { after }),
    max: messagesPerPage,
  });
  return { messages, isMore: messages.length === messagesPerPage };
}

/** Containers and tables. A service that no application has used is not started for a look, unless the developer asks. */
async function listStorage(shown: readonly Shown[], query: URLSearchParams): Promise<unknown> {
  const views = shown.flatMap(({ storage }) => storage);
  const isAsked = (kind: string): boolean => query.get('start') === kind;
  return {
    storage: await Promise.all(
      views.map(async (view) => ({
        kind: view.kind,
        isRunning: view.state === 'running' || isAsked(view.kind),
        names: view.state === 'running' || isAsked(view.kind) ? await view.names() : [],
      })),
    ),
  };
}

function listItems(shown: readonly Shown[], query: URLSearchParams): Promise<unknown> {
  return viewOf(shown, query.get('kind')).items(query.get('name') ?? '', query.get('after') ?? undefined);
}

async function readContent(shown: readonly Shown[], query: URLSearchParams): Promise<unknown> {
  const view = viewOf(shown, query.get('kind'));
  return { text: await view.content(query.get('name') ?? '', query.get('item') ?? '') };
}

function viewOf(shown: readonly Shown[], kind: string | null): StorageView {
  const view = shown.flatMap(({ storage }) => storage).find((one) => one.kind === kind);
  if (!view) throw new BadRequest(404, `The service "${kind ?? ''}" does not run.`);
  return view;
}

type Change = (shown: readonly Shown[], body: Readonly<Record<string, unknown>>) => Promise<unknown>;

const changes: Readonly<Record<string, Change>> = {
  '/api/send': async (shown, body) => {
    const entity = textOf(body, 'entity');
    await consoleOf(shown, body['service'], entity).send(entity, readMessage(body['message']));
    return {};
  },
  '/api/requeue': async (shown, body) => {
    const entity = textOf(body, 'entity');
    return { count: await consoleOf(shown, body['service'], entity).requeue(entity) };
  },
  '/api/purge': async (shown, body) => {
    const entity = textOf(body, 'entity');
    const deadLetters = body['deadLetters'] === true;
    return { count: await consoleOf(shown, body['service'], entity).purge(entity, { deadLetters }) };
  },
};

function consoleOf(shown: readonly Shown[], service: unknown, entity: string): EntityConsole {
  const consoles = shown.flatMap(({ consoles: all }) => all.get(String(service)) ?? []);
  const found = consoles.find((one) => one.entities().some(({ name }) => name === entity)) ?? consoles[0];
  if (!found) throw new BadRequest(404, `The service "${String(service)}" does not run.`);
  return found;
}

function readMessage(value: unknown): TypedMessage {
  if (!isRecord(value)) throw new BadRequest(400, 'The message must be an object.');
  const properties = value['properties'];
  if (properties !== undefined && !isRecord(properties))
    throw new BadRequest(400, 'The properties of the message must be an object.');
  const optional = ['contentType', 'sessionId', 'partitionKey'].flatMap((name) =>
    value[name] === undefined ? [] : [[name, textOf(value, name)] as const],
  );
  return {
    body: textOf(value, 'body'),
    ...Object.fromEntries(optional),
    ...(properties && {
      properties: Object.fromEntries(Object.keys(properties).map((name) => [name, textOf(properties, name)])),
    }),
  };
}

function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === 'string') return value;
  throw new BadRequest(400, `"${name}" must be a string.`);
}

async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxRequestBytes) throw new BadRequest(413, `The request is larger than ${maxRequestBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // Refused below, like JSON that is not an object.
  }
  throw new BadRequest(400, 'The body must be a JSON object.');
}

function failed(error: unknown): PageAnswer {
  const status = error instanceof BadRequest ? error.status : 400;
  return json({ error: error instanceof Error ? error.message : String(error) }, status);
}

function json(value: unknown, status = 200): PageAnswer {
  return { status, type: 'application/json; charset=utf-8', text: JSON.stringify(value) };
}

function write(response: ServerResponse, { status, type, text }: PageAnswer): void {
  // The rest of a body that was refused is not read.
  const headers = status === 413 ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': type, ...securityHeaders, ...headers }).end(text);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
