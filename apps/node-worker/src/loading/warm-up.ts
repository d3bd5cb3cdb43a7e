import { createRequire } from 'node:module';
import { FunctionApp } from './function-app.js';
import { loadScript } from './load-script.js';
import type { FunctionsLibrary, PreparedLibrary } from './prepared-library.js';
import { startApp } from './start-app.js';
import { withWarmUpApp } from './warm-up-app.js';

/** The modules that the v4 library requires. */
const usualModules = ['crypto', 'http', 'net', 'stream', 'stream/web', 'url', 'util'];

const emptyModule: string = 'data:text/javascript,';

export interface WarmUpParts {
  readonly prepared: PreparedLibrary;
  readonly warmUpInvocations: (library: FunctionsLibrary) => Promise<void>;
}

/** Prepares a placeholder for any app: loads what Node loads at first use and the v4 library, and runs empty functions in it. */
export async function warmUp({ prepared, warmUpInvocations }: WarmUpParts): Promise<void> {
  const require = createRequire(process.execPath);
  for (const name of usualModules) require(name);
  await touchGlobals();
  // Node starts its ES module loader with the first import.
  await import(emptyModule);
  const app = new FunctionApp(() => undefined);
  await withWarmUpApp(async (directory) => void (await startApp(app, directory, loadScript)));
  const library = prepared.load();
  if (library) await warmUpInvocations(library);
}

/** Uses the globals that the v4 library uses for its first HTTP request and response: Node loads them lazily. */
async function touchGlobals(): Promise<void> {
  const url = new URL('http://localhost/?a=b');
  const request = new Request(url, { method: 'POST', body: Buffer.from('{}'), headers: { 'x-warm-up': 'true' } });
  const response = new Response('{}', { headers: { 'content-type': 'application/json' } });
  void [[...request.headers], [...response.headers], new URLSearchParams({ a: 'b' }).get('a')];
  await Promise.all([request.json(), response.arrayBuffer()]);
}
