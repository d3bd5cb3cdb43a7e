import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { localSocketFile } from '@drover/http-edge';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, closing, gateway, send, shown, worker, type Lane } from './gateway.test.fixture.js';

afterEach(closeAll);

type Connected = ReturnType<typeof createTcpServer>;

/** Listens on the Unix socket that belongs to the port of a worker. */
async function onSocketOf({ url }: { readonly url: string }, directory: string, server: Connected): Promise<void> {
  server.listen(localSocketFile(directory, new URL(url).port));
  await once(server, 'listening');
  closing.push(() => new Promise((resolve) => server.close(resolve)));
}

/** Accepts connections and reads nothing from them; `kill` closes them as the end of its process would. */
function deafServer(): { readonly server: Connected; readonly accepted: Set<Socket>; kill(): void } {
  const accepted = new Set<Socket>();
  const server = createTcpServer({ pauseOnConnect: true }, (socket) => accepted.add(socket));
  return {
    server,
    accepted,
    kill() {
      for (const socket of accepted) socket.destroy();
    },
  };
}

describe.each<Lane>(['fast lane', "Node's server"])('workers on this machine, for requests on %s', (lane) => {
  const bodyOf = (method: string): { readonly body?: string } => (method === 'DELETE' ? {} : { body: '{}' });

  it('are called by their Unix socket, and by their port while they have none', () =>
    withScratchDirectory(async (socketDirectory) => {
      const one = await worker('by port');
      const { url } = await gateway(lane, [one], { socketDirectory });
      expect(await shown(send(url))).toBe('200 by port');
      const other = await gateway(lane, [one], { socketDirectory });
      const answer: RequestListener = (_, response) => void response.end('by socket');
      await onSocketOf(one, socketDirectory, createServer(answer));
      expect(await shown(send(other.url))).toBe('200 by socket');
    }));

  it('are replaced by others for changes that they had not read when they went away', () =>
    withScratchDirectory(async (socketDirectory) => {
      for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
        const [deaf, one, two] = [deafServer(), await worker('one'), await worker('two')];
        await onSocketOf(one, socketDirectory, deaf.server);
        const { url, observed } = await gateway(lane, [one, two], { socketDirectory });
        const answer = shown(send(url, { method, ...bodyOf(method) }));
        await eventually(() => expect(deaf.accepted.size).toBe(1));
        deaf.kill();
        expect(await answer).toBe('200 two');
        expect(observed).toEqual(['gateway.retried']);
        expect([one.seen.length, two.seen.length]).toEqual([0, 1]);
      }
    }));

  it.each([
    ['a change that they had read', 'PATCH', '/api/orders/1', false],
    ['an import, which is read row by row', 'POST', '/api/orders/import', true],
  ])('are not replaced for %s', (_what, method, path, isDeaf) =>
    withScratchDirectory(async (socketDirectory) => {
      const [deaf, one, two] = [deafServer(), await worker('one'), await worker('two')];
      const reading = createTcpServer((socket) => void socket.once('data', () => socket.destroy()));
      await onSocketOf(one, socketDirectory, isDeaf ? deaf.server : reading);
      const { url } = await gateway(lane, [one, two], { socketDirectory });
      const answer = shown(send(url, { method, path, body: '{}' }));
      if (isDeaf) await eventually(() => expect(deaf.accepted.size).toBe(1));
      deaf.kill();
      expect(await answer).toBe('502 GATEWAY_COLLECTION_WORKER_BROKE_OFF');
      expect([one.seen.length, two.seen.length]).toEqual([0, 0]);
    }),
  );
});
