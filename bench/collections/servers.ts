import type { Leash, Secret } from '@drover/service-kit';
import { Program } from '../harness/program.js';
import type { Listening } from '../functions-api/programs/serve-http.js';
import type { BareProxyRequest } from './programs/bare-proxy.js';
import type { HandWrittenRequest } from './programs/hand-written.js';

/** Connections to PostgreSQL of each server. */
export const poolSize = 10;

export interface Server extends Listening {
  readonly kind: ServerKind;
  readonly headers: Readonly<Record<string, string>>;
  /** The processes that it sends requests to. */
  readonly behind?: () => readonly number[];
  readonly close: () => Promise<unknown>;
}

export const serverNames = {
  collection: 'collection',
  gateway: 'collection through the gateway',
  bareProxy: 'collection through a bare proxy',
  handWritten: 'hand-written fastify + pg',
  platformatic: 'Platformatic DB',
} as const;
export type ServerKind = keyof typeof serverNames;

export function startHandWritten(url: Secret, leash: Leash): Promise<Server> {
  const request: HandWrittenRequest = { url: url.reveal(), poolSize };
  return startProgram('hand-written', request, { kind: 'handWritten', headers: {} }, leash);
}

/** Starts a reverse proxy that does as little as possible, in front of a collection worker. */
export function startBareProxy(worker: Listening, headers: Server['headers'], leash: Leash): Promise<Server> {
  const request: BareProxyRequest = { workerPort: worker.port };
  return startProgram('bare-proxy', request, { kind: 'bareProxy', headers }, leash);
}

async function startProgram(
  name: string,
  request: object,
  server: Pick<Server, 'kind' | 'headers'>,
  leash: Leash,
): Promise<Server> {
  const program = new Program<object, Listening>(new URL(`./programs/${name}.js`, import.meta.url), leash);
  try {
    return { ...server, ...(await program.ask(request)), close: () => program.end() };
  } catch (error) {
    await program.end();
    throw error;
  }
}
