import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { Child, eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks } from '../docs/command-blocks.js';
import {
  developmentPorts,
  developmentSettings,
  encoded,
  queueOf,
  receipts,
  saidAboutEmulators,
  startedEmulators,
} from '../support/emulators.js';
import { helloApp, logOf, ordersApp, withRuntime } from '../support/functions.js';
import { drover, plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const readme = path.join(root, 'packages/azure-emulators/README.md');
const free = ['--amqp-port', '0', '--blob-port', '0', '--queue-port', '0', '--table-port', '0', '--page-port', '0'];

function startEmulatorsCommand(...args: readonly string[]): Child {
  return new Child(process.execPath, [drover, 'emulators', ...args], { env: plainEnvironment() });
}

interface EmulatorsReady {
  readonly ports: Readonly<Record<'amqp' | 'blob' | 'queue' | 'table', number>>;
  readonly connectionStrings: { readonly serviceBus: string; readonly storage: string };
  readonly page: string;
}

async function emulatorsReady(child: Child): Promise<EmulatorsReady> {
  return JSON.parse(await child.line(/^\{"event":"ready"/)) as EmulatorsReady;
}

/** The commands of the README of the package. */
const documented = commandBlocks('packages/azure-emulators/README.md', readFileSync(readme, 'utf8')).flatMap(
  ({ commands }) => commands.trim().split('\n'),
);

describe('drover emulators', () => {
  it('prints connection strings that the SDK can use, and serves a page that sends and shows messages', async () => {
    const child = startEmulatorsCommand(...free, '--json');
    try {
      const { connectionStrings, page } = await emulatorsReady(child);
      const queue = await queueOf(connectionStrings.storage, 'orders');
      await queue.sendMessage(encoded({ id: 1 }));
      const shown = (await (await fetch(`${page}api/entities`)).json()) as { entities: unknown[] };
      expect(shown.entities).toContainEqual(
        expect.objectContaining({ service: 'queues', name: 'orders', depth: 1, inFlight: 0, deadLetters: 0 }),
      );
      const change = (path: string, body: object): Promise<Response> =>
        fetch(`${page}api/${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ service: 'queues', entity: 'orders', ...body }),
        });
      expect((await change('send', { message: { body: '{"id":2}' } })).status).toBe(200);
      const { messages } = (await (
        await fetch(`${page}api/messages?service=queues&entity=orders&deadLetters=false`)
      ).json()) as { messages: { body: string }[] };
      expect(messages.map(({ body }) => body)).toEqual(['{"id":1}', '{"id":2}']);
      expect(await (await change('purge', { deadLetters: false })).json()).toEqual({ count: 2 });
      expect((await fetch(page, { headers: { origin: 'https://attacker.example' } })).status).toBe(403);
      child.kill('SIGTERM');
      expect(await child.exited).toMatchObject({ code: 0 });
    } finally {
      await child.end();
    }
  });

  it.each(documented)('runs as its README says: %s', (command) =>
    withDataDirectory(async (directory) => {
      const args = command
        .replace(/ *#.*$/, '')
        .replace('.emulators', directory)
        .split(' ')
        .slice(3);
      const child = startEmulatorsCommand(...args, ...free);
      try {
        await child.line(/Drover emulators are up/);
        expect(child.stdout.join('\n')).toMatch(
          /UseDevelopmentEmulator=true;[^]+QueueEndpoint=http:\/\/127\.0\.0\.1:\d+/,
        );
      } finally {
        await child.end();
      }
    }),
  );

  it('creates the entities of a file, and refuses a file with every problem at once', () =>
    withDataDirectory(async (directory) => {
      await mkdir(directory);
      const file = path.join(directory, 'Config.json');
      const entities = {
        Queues: [{ Name: 'orders', Properties: { MaxDeliveryCount: 3 } }],
        EventHubs: [{ Name: 'clicks' }],
      };
      await writeFile(file, JSON.stringify({ UserConfig: { Namespaces: [{ Name: 'ns', ...entities }] } }));
      const child = startEmulatorsCommand(...free, '--json', '--entities', file);
      try {
        const { page } = await emulatorsReady(child);
        const shown = (await (await fetch(`${page}api/entities`)).json()) as { entities: { name: string }[] };
        expect(shown.entities.map(({ name }) => name).toSorted()).toEqual(['clicks', 'orders']);
      } finally {
        await child.end();
      }
      await writeFile(file, JSON.stringify({ queues: [{ name: 'a b', lockDuration: 'soon' }], topcs: [] }));
      const refused = startEmulatorsCommand(...free, '--entities', file);
      expect(await refused.exited).toMatchObject({ code: 1 });
      for (const problem of ['queues[0].name must be', 'queues[0].lockDuration must be', 'topcs is not a known option'])
        expect(refused.stderr.join('\n')).toContain(problem);
    }));

  it('names what holds its port, and what to do', async () => {
    const first = startEmulatorsCommand(...free, '--json');
    const stranger = createServer((_, response) => response.end('hello'));
    try {
      const { ports } = await emulatorsReady(first);
      const second = startEmulatorsCommand(...free, '--queue-port', String(ports.queue));
      expect(await second.exited).toMatchObject({ code: 1 });
      expect(second.stderr.join('\n')).toContain(`Port ${ports.queue} for storage queues is in use: another emulator`);
      await new Promise<void>((resolve) => void stranger.listen(0, '127.0.0.1', resolve));
      const { port } = stranger.address() as { port: number };
      const third = startEmulatorsCommand(...free, '--amqp-port', String(port));
      expect(await third.exited).toMatchObject({ code: 1 });
      expect(third.stderr.join('\n')).toMatch(
        /Service Bus and Event Hubs is in use: another program.*choose another port/,
      );
    } finally {
      stranger.close();
      await first.end();
    }
  });
});

describe('drover up', () => {
  it('starts the emulators that settings name in one line, and loses no message when they are killed', () =>
    withDataDirectory(async (directory, started) => {
      const settings = developmentSettings(await developmentPorts());
      const up = started(startUp(directory, { args: ['--json', '--app', ordersApp], env: settings }));
      await readyLine(up);
      await eventually(() => expect(startedEmulators(up)).toHaveLength(1));
      const [orders, results] = await Promise.all(
        ['orders', 'receipts'].map((name) => queueOf(settings.AzureWebJobsStorage, name)),
      );
      const order = (id: number): Promise<unknown> | undefined =>
        orders?.sendMessage(encoded({ id, amount: 1, price: 2 }));
      const seen = new Set<number>();
      const all = async (...ids: number[]): Promise<void> =>
        eventually(async () => {
          if (results) await receipts(results, seen);
          expect([...seen].toSorted((one, other) => one - other)).toEqual(ids);
        });
      await order(1);
      await all(1);
      const [first = Number.NaN] = startedEmulators(up);
      process.kill(first, 'SIGKILL');
      await eventually(() => expect(startedEmulators(up)).toHaveLength(2));
      await order(2);
      await all(1, 2);
      const lines = saidAboutEmulators(up).filter((line) => line.startsWith('emulators for this application'));
      expect(lines.length).toBeLessThanOrEqual(2); // one for each start of the process
      expect(lines[0]).toMatch(/storage queues on 127\.0\.0\.1:\d+.*data in .*emulators/);
      expect(lines.every((line) => !line.includes('\n'))).toBe(true);
      expect(logOf(up).filter(({ msg }) => msg.includes('does not answer'))).toEqual([]);
      up.kill('SIGTERM');
      await up.exited;
      expect(startedEmulators(up).filter(isAlive)).toEqual([]);
    }));

  it('starts none for an app without triggers, nor when they are turned off', () =>
    withDataDirectory(async (directory, started) => {
      const settings = developmentSettings(await developmentPorts());
      const http = started(
        startUp(`${directory}-1`, { args: ['--json', '--app', helloApp], env: { DROVER_EMULATORS: 'on' } }),
      );
      const off = started(
        startUp(`${directory}-2`, {
          args: ['--json', '--app', ordersApp],
          env: { ...settings, DROVER_EMULATORS: 'off' },
        }),
      );
      for (const up of [http, off]) {
        await readyLine(up);
        expect(startedEmulators(up)).toEqual([]);
        expect(saidAboutEmulators(up)).toEqual([]);
      }
      expect(
        logOf(http).filter(({ kind }) => kind === 'application.problem' || kind === 'application.warning'),
      ).toEqual([]);
    }));
});

describe('drover-runtime', () => {
  it('starts what only a setting names, for code that connects by itself', () =>
    withDataDirectory(async (directory) => {
      const settings = developmentSettings(await developmentPorts());
      await withRuntime({ apps: [helloApp], env: { ...settings, DROVER_DATA_DIR: directory } }, async (runtime) => {
        const queue = await eventually(() => queueOf(settings.AzureWebJobsStorage, 'by-hand'));
        await queue.sendMessage('hello');
        await eventually(() => expect(saidAboutEmulators(runtime.child)).not.toEqual([]));
        const [line = ''] = saidAboutEmulators(runtime.child);
        for (const service of ['blobs', 'storage queues', 'tables', 'Service Bus and Event Hubs'])
          expect(line).toContain(`${service} on 127.0.0.1:`);
      });
    }));
});
