import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { sendReporting } from './send-reporting.js';

const body = new Uint8Array(8 * 1_024 ** 2).fill(7);
let close: () => Promise<unknown> = () => Promise.resolve();
afterEach(() => close());

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  const { port } = server.address() as AddressInfo; // a TCP server that listens
  return new URL(`http://127.0.0.1:${port}/payloads`);
}

const post = { method: 'POST', headers: { 'x-test': 'yes' }, signal: AbortSignal.timeout(60_000) };

describe('an upload with progress', () => {
  it('sends all bytes with their number, and reports them as they leave', async () => {
    const url = await serve((request, response) => {
      void buffer(request).then((sent) =>
        response
          .writeHead(201, { 'x-drover-waiting-for': 'none' })
          .end(`${sent.length} ${request.headers['content-length']} ${String(request.headers['x-test'])}`),
      );
    });
    const seen: number[] = [];
    const answer = await sendReporting((sent) => void seen.push(sent))(url, { ...post, body });
    expect(answer).toMatchObject({ status: 201, ok: true });
    expect(answer.headers?.get('X-Drover-Waiting-For')).toBe('none');
    expect(await answer.text()).toBe(`${body.length} ${body.length} yes`);
    expect(seen.at(-1)).toBe(body.length);
    expect(seen).toEqual(seen.toSorted((one, other) => one - other));
    expect(seen.length).toBeGreaterThan(10);
  });

  it('has the answer of a server that refuses before it has read all', async () => {
    const url = await serve((_request, response) => void response.writeHead(413).end('too large'));
    const answer = await sendReporting(() => undefined)(url, { ...post, body });
    expect([answer.status, answer.ok, await answer.text()]).toEqual([413, false, 'too large']);
  });

  it('fails when the server goes away, or never reads and the time is over', async () => {
    const gone = await serve((request) => void request.once('data', () => request.socket.destroy()));
    await expect(sendReporting(() => undefined)(gone, { ...post, body })).rejects.toThrow(/hang up|ECONNRESET|EPIPE/);
    await close();
    const silent = await serve(() => undefined);
    const giveUp = new AbortController();
    const sending = sendReporting(() => giveUp.abort())(silent, { ...post, body, signal: giveUp.signal });
    await expect(sending).rejects.toThrow(/abort/);
  });
});
