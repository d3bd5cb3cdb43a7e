import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks, isShown } from '../docs/command-blocks.js';
import { developmentPorts, developmentSettings } from '../support/emulators.js';
import { plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const document = 'examples/orders/README.md';
const blocks = commandBlocks(document, readFileSync(path.join(root, document), 'utf8'));
const [start = '', define = '', create = '', look = '', see = ''] = blocks.map(({ commands }) => commands);
/** What the terminal of a reader remembers. */
const [variables = ''] = create.split('\n');

it('runs functions on changes of records, through a queue and back into a collection, over two workers and kills of one and of the runtime', () =>
  withDataDirectory(async (directory, started) => {
    const env = developmentSettings(await developmentPorts());
    const upArgs = start.trim().split(' ').slice(3);
    const up = started(startUp(directory, { args: [...upArgs, '--json'], env }));
    const { urls, pids, credentialsFile } = await readyLine(up);
    const { apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { apiKey: string };
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

    /** Runs commands as they are written, but for the port, in a folder that looks like the repository of the reader. */
    const documented = async (commands: string): Promise<string> => {
      const script = commands.replaceAll('http://127.0.0.1:7070', urls.public);
      const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd: place, env: plainEnvironment() });
      return stdout;
    };
    const place = path.join(directory, 'reader');
    await mkdir(place);
    for (const name of ['apps', 'packages', 'examples', 'node_modules', 'package.json'])
      await symlink(path.join(root, name), path.join(place, name));
    await symlink(directory, path.join(place, '.drover'));
    await documented(define);
    expect(await documented(create)).toContain('"number":"A-1"');
    await eventually(async () => {
      const shown = JSON.parse(await documented(`${variables}\n${look}`)) as unknown;
      expect({ shown, isShown: isShown(blocks[3]?.prints, shown) }).toMatchObject({ isShown: true });
    });
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
    expect(await documented(see)).toMatch(/orders +collection-worker-1 +READY/);
    process.kill(pids['collection-worker-1'] ?? Number.NaN, 'SIGKILL');
    process.kill(pids['runtime-1'] ?? Number.NaN, 'SIGKILL');
    const later = ['A-2', 'A-3', 'A-4', 'A-5'];
    for (const number of later) await order(number);
    await eventually(async () => expect(await shipped()).toEqual(['A-1', ...later]));
    expect((await list('orders?sort=number')).map(({ status, version }) => [status, version])).toEqual(
      Array.from({ length: 5 }, () => ['packed', 2]),
    );
  }));
