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
const [start, use] = commandBlocks(document, readFileSync(path.join(root, document), 'utf8')).map(
  ({ commands }) => commands,
);
const [upArgs = [], applyArgs = []] = (start ?? '')
  .trim()
  .split('\n')
  .map((line) => line.split(' ').slice(2));
const [post = '', look = ''] = (use ?? '').split(/\n(?=curl -g)/);

it('runs functions on changes of records, through a queue and back into a collection, also over a kill of the runtime', () =>
  withDataDirectory(async (directory, started) => {
    const env = developmentSettings(await developmentPorts());
    const up = started(startUp(directory, { args: [...upArgs.slice(1), '--json'], env }));
    const { urls, pids, credentialsFile } = await readyLine(up);
    const { apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { apiKey: string };
    const apply = started(
      new Child(process.execPath, [drover, ...applyArgs, '--data-dir', directory], { env: plainEnvironment() }),
    );
    expect(await apply.exited).toMatchObject({ code: 0 });

    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const call = (address: string, init?: RequestInit): Promise<Response> =>
      fetch(`${urls.public}${address}`, { headers, signal: AbortSignal.timeout(30_000), ...init });
    const order = async (number: string): Promise<void> => {
      const body = JSON.stringify({ number, customer: 'Ada', amount: 25 });
      expect((await call('/api/orders', { method: 'POST', body })).status).toBe(201);
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
    await eventually(async () => expect(await documented(look)).toContain('"parcels":3'), 40_000);
    expect(await list('shipments?sort=order')).toMatchObject([{ order: 'A-1', customer: 'Ada' }]);

    process.kill(pids['runtime-1'] ?? Number.NaN, 'SIGKILL');
    const later = ['A-2', 'A-3', 'A-4', 'A-5'];
    for (const number of later) await order(number);
    await eventually(async () => expect(await shipped()).toEqual(['A-1', ...later]), 60_000);
    expect((await list('orders?sort=number')).map(({ status, version }) => [status, version])).toEqual(
      Array.from({ length: 5 }, () => ['packed', 2]),
    );
  }));
