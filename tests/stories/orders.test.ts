import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Child, eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks } from '../docs/command-blocks.js';
import { developmentPorts, developmentSettings } from '../support/emulators.js';
import { drover, plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const document = 'examples/orders/README.md';
const [start, use, see] = commandBlocks(document, readFileSync(path.join(root, document), 'utf8')).map(
  ({ commands }) => commands,
);
const [upArgs = [], applyArgs = []] = (start ?? '')
  .trim()
  .split('\n')
  .map((line) => line.split(' ').slice(2));
const [post = '', look = ''] = (use ?? '').split(/\n(?=curl -g)/);

it('runs functions on changes of records, through a queue and back into a collection, over two workers and kills of one and of the runtime', () =>
  withDataDirectory(async (directory, started) => {
    const env = developmentSettings(await developmentPorts());
    const up = started(startUp(directory, { args: [...upArgs.slice(1), '--json'], env }));
    const { urls, pids, credentialsFile } = await readyLine(up);
    const { apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { apiKey: string };
    const apply = started(
      new Child(process.execPath, [drover, ...applyArgs, '--data-dir', directory], { env: plainEnvironment() }),
    );
    expect(await apply.exited).toMatchObject({ code: 0 });

    const listArgs = (see ?? '').trim().split(' ').slice(2);
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const call = (address: string, init?: RequestInit): Promise<Response> =>
      fetch(`${urls.public}${address}`, { headers, signal: AbortSignal.timeout(30_000), ...init });
    const order = async (number: string): Promise<void> => {
      const body = JSON.stringify({ number, customer: 'Ada', amount: 25 });
      // With a key the gateway may send it again if the worker is killed while it has it.
      const keyed = { ...headers, 'idempotency-key': number };
      expect((await call('/api/orders', { method: 'POST', body, headers: keyed })).status).toBe(201);
    };
    const list = async (query: string): Promise<Record<string, unknown>[]> => {
      const { data } = (await (await call(`/api/${query}&shape=flat`)).json()) as { data: Record<string, unknown>[] };
      return data;
    };
    const shipped = async (): Promise<unknown[]> => (await list('shipments?sort=order')).map((one) => one['order']);

    const documented = async (command: string): Promise<string> => {
      const script = command.replaceAll('http://localhost:8080', urls.public);
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, KEY: apiKey } });
      return stdout;
    };
    expect(await documented(post)).toContain('"number":"A-1"');
    await eventually(async () => expect(await documented(look)).toContain('"parcels":3'));
    expect(await list('shipments?sort=order')).toMatchObject([{ order: 'A-1', customer: 'Ada' }]);

    // Each collection is on both workers, so each may be killed.
    await eventually(async () => {
      const answer = await call('/control/assignments?status=READY');
      const { assignments } = (await answer.json()) as { assignments: { collection: string; workerId: string }[] };
      expect(assignments.map(({ collection, workerId }) => `${collection} ${workerId}`).toSorted()).toEqual([
        'orders collection-worker-1',
        'orders collection-worker-2',
        'shipments collection-worker-1',
        'shipments collection-worker-2',
      ]);
    });
    const listed = started(
      new Child(process.execPath, [drover, ...listArgs, '--data-dir', directory], { env: plainEnvironment() }),
    );
    expect(await listed.exited).toMatchObject({ code: 0 });
    expect(listed.output).toMatch(/orders +collection-worker-1 +READY/);
    process.kill(pids['collection-worker-1'] ?? Number.NaN, 'SIGKILL');
    process.kill(pids['runtime-1'] ?? Number.NaN, 'SIGKILL');
    const later = ['A-2', 'A-3', 'A-4', 'A-5'];
    for (const number of later) await order(number);
    await eventually(async () => expect(await shipped()).toEqual(['A-1', ...later]));
    expect((await list('orders?sort=number')).map(({ status, version }) => [status, version])).toEqual(
      Array.from({ length: 5 }, () => ['packed', 2]),
    );
  }));
