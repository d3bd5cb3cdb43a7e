import { createRequire } from 'node:module';

/** Modules that the v4 library requires, so that an app finds them loaded. */
const usualModules = ['crypto', 'http', 'net', 'stream', 'stream/web', 'url', 'util'];

const emptyModule: string = 'data:text/javascript,';

/** Makes a placeholder ready for whatever app it will get: loads what Node loads at first use, and rehearses. */
export async function warmUp(rehearse: () => Promise<void>): Promise<void> {
  const require = createRequire(process.execPath);
  for (const name of usualModules) require(name);
  await touchGlobals();
  // The loader of ES modules starts with the first one.
  await import(emptyModule);
  await rehearse();
}

/** What the v4 library touches with its first HTTP request and response, and what takes Node longest to load. */
async function touchGlobals(): Promise<void> {
  const url = new URL('http://localhost/?a=b');
  const request = new Request(url, { method: 'POST', body: Buffer.from('{}'), headers: { 'x-warm-up': 'true' } });
  const response = new Response('{}', { headers: { 'content-type': 'application/json' } });
  void [[...request.headers], [...response.headers], new URLSearchParams({ a: 'b' }).get('a')];
  await Promise.all([request.json(), response.arrayBuffer()]);
}
