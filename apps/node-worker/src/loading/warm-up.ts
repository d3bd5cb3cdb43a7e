import { createRequire } from 'node:module';

/** The modules that the v4 library requires. */
const usualModules = ['crypto', 'http', 'net', 'stream', 'stream/web', 'url', 'util'];

const emptyModule: string = 'data:text/javascript,';

/** Prepares a placeholder for any app: loads what Node loads at first use, and runs invocations of an empty function. */
export async function warmUp(warmUpInvocations: () => Promise<void>): Promise<void> {
  const require = createRequire(process.execPath);
  for (const name of usualModules) require(name);
  await touchGlobals();
  // Node starts its ES module loader with the first import.
  await import(emptyModule);
  await warmUpInvocations();
}

/** Uses the globals that the v4 library uses for its first HTTP request and response: Node loads them lazily. */
async function touchGlobals(): Promise<void> {
  const url = new URL('http://localhost/?a=b');
  const request = new Request(url, { method: 'POST', body: Buffer.from('{}'), headers: { 'x-warm-up': 'true' } });
  const response = new Response('{}', { headers: { 'content-type': 'application/json' } });
  void [[...request.headers], [...response.headers], new URLSearchParams({ a: 'b' }).get('a')];
  await Promise.all([request.json(), response.arrayBuffer()]);
}
