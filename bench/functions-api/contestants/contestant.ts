import type { Leash } from '@drover/service-kit';
import { Program } from '../../harness/program.js';
import type { RequestSpec } from '../load/request.js';
import type { Listening } from '../programs/serve-http.js';

/** A server that is called. */
export interface Contestant extends Listening {
  readonly name: string;
  readonly request: RequestSpec;
  readonly close: () => Promise<unknown>;
}

/** A program of the suite that says where it serves when it is told what to serve. */
export async function startProgram(
  name: string,
  request: object,
  leash: Leash,
): Promise<Listening & { readonly close: () => Promise<void> }> {
  const program = new Program<object, Listening>(new URL(`../programs/${name}.js`, import.meta.url), leash);
  try {
    return { ...(await program.ask(request)), close: () => program.end() };
  } catch (error) {
    await program.end();
    throw error;
  }
}
