import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { removeFunction, updateFunction } from './functions.js';

/** Calls a command against a platform with one answer. Returns what the platform was asked and what the command printed. */
async function run(
  answer: { readonly status: number; readonly body?: unknown },
  command: (host: NodeJS.Process) => Promise<void>,
): Promise<{ readonly asked: string; readonly printed: string }> {
  let [asked, printed] = ['', ''];
  const server = createServer((request, response) => {
    asked = `${request.method} ${request.url}`;
    response.writeHead(answer.status).end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens
  const env = { DROVER_URL: `http://127.0.0.1:${port}`, DROVER_API_KEY: 'drv_a_b' };
  const stdout = { write: (text: string) => (printed += text) };
  try {
    await command({ env, stdout } as unknown as NodeJS.Process); // all that the commands use
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { asked, printed };
}

describe('drover functions remove', () => {
  it('removes a function', async () => {
    expect(await run({ status: 204 }, (host) => removeFunction('f', {}, host))).toEqual({
      asked: 'DELETE /v1/functions/f',
      printed: 'The function f is removed.\n',
    });
  });

  it('passes on what becomes of its queue, and says what is left', async () => {
    const body = {
      function: 'f',
      state: 'draining',
      removing: true,
      waiting: 2,
      retrying: 1,
      scheduled: 0,
      running: 1,
    };
    expect(await run({ status: 202, body }, (host) => removeFunction('f', { queue: 'drain' }, host))).toEqual({
      asked: 'DELETE /v1/functions/f?queue=drain',
      printed: 'The function f accepts no more calls and is removed after 4 that it still has.\n',
    });
  });

  it('shows why it was refused', async () => {
    const message = 'The function f was not removed: 2 calls wait in its queue.';
    const body = { error: 'FUNCTION_QUEUE_NOT_EMPTY', message, requestId: 'r' };
    await expect(run({ status: 409, body }, (host) => removeFunction('f', {}, host))).rejects.toThrow(message);
  });
});

describe('drover functions update', () => {
  it('replaces the function that the file names', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'f.json');
      await writeFile(file, JSON.stringify({ name: 'f', endpointUrl: 'http://x/' }));
      const body = { name: 'f', executionMode: 'POOL' };
      expect(await run({ status: 200, body }, (host) => updateFunction(file, {}, host))).toEqual({
        asked: 'PUT /v1/functions/f',
        printed: 'The function f is registered in mode POOL.\n',
      });
    });
  });
});
