import type { Leash, Secret } from '@drover/service-kit';
import { Program } from '../harness/program.js';
import type { Listening } from '../functions-api/programs/serve-http.js';
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
  handWritten: 'hand-written fastify + pg',
  platformatic: 'Platformatic DB',
} as const;
export type ServerKind = keyof typeof serverNames;

export async function startHandWritten(url: Secret, leash: Leash): Promise<Server> {
  const program = new Program<HandWrittenRequest, Listening>(
    new URL('./programs/hand-written.js', import.meta.url),
    leash,
  );
  try {
    const listening = await program.ask({ url: url.reveal(), poolSize });
    return { kind: 'handWritten', headers: {}, ...listening, close: () => program.end() };
  } catch (error) {
    await program.end();
    throw error;
  }
}
