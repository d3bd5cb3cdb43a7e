import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks } from '../docs/command-blocks.js';
import { developmentPorts, developmentSettings } from '../support/emulators.js';
import { freePorts } from '../support/free-ports.js';
import { logOf } from '../support/functions.js';
import { readyLine, startUp, withDataDirectory } from '../support/platform.js';

/** The command that README.md shows. */
const [documented] = commandBlocks('README.md', readFileSync(path.join(root, 'README.md'), 'utf8')).filter(
  ({ commands }) => commands.includes('examples/all-triggers'),
);

interface Results {
  readonly isWarm: boolean;
  readonly rows: readonly { readonly RowKey: string; readonly [name: string]: unknown }[];
}

it('runs an app with every trigger from an empty data directory, on one command', () =>
  withDataDirectory(async (directory, started) => {
    const settings = developmentSettings(await developmentPorts());
    const [npx, drover, command, ...args] = documented?.commands.trim().split(' ') ?? [];
    expect([npx, drover, command]).toEqual(['npx', 'drover', 'up']);
    const [port = 0] = await freePorts(1); // the events of the topic come back to the public port
    const env = {
      ...settings,
      TopicEndpoint: `http://127.0.0.1:${port}/runtime/webhooks/eventgrid?functionName=onEventGrid`,
      AzureFunctionsJobHost__extensions__blobs__scanInterval: '00:00:01',
    };
    const up = started(startUp(directory, { args: [...args, '--json', '--port', String(port)], env }));
    const { urls, functions } = await readyLine(up);
    expect(functions.map(({ name }) => name).toSorted()).toEqual([
      'copy',
      'onBlob',
      'onEventGrid',
      'onEventHub',
      'onQueue',
      'onServiceBusBatch',
      'onServiceBusQueue',
      'onServiceBusSession',
      'onServiceBusTopic',
      'onTimer',
      'onWarmup',
      'results',
      'send',
    ]);
    const call = (address: string, init?: RequestInit): Promise<Response> =>
      fetch(`${urls.public}${address}`, { signal: AbortSignal.timeout(30_000), ...init });
    const results = async (trigger: string): Promise<Results> =>
      (await (await call(`/api/results/${trigger}`)).json()) as Results;
    const keys = async (trigger: string): Promise<string[]> =>
      (await results(trigger)).rows.map(({ RowKey }) => RowKey);

    await eventually(async () => expect((await call('/api/send/42', { method: 'POST' })).status).toBe(202));
    const sentTo = ['queue', 'serviceBusQueue', 'serviceBusBatch', 'serviceBusTopic', 'eventHub', 'blob', 'eventGrid'];
    await Promise.all(
      sentTo.map((trigger) =>
        eventually(async () => expect([trigger, ...(await keys(trigger))]).toEqual([trigger, '42'])),
      ),
    );
    expect(await (await call('/api/copies/42')).text()).toBe('parcel 42, copied');

    const bus = new ServiceBusClient(settings.ServiceBus);
    const chats = bus.createSender('chats');
    for (const id of [1, 2, 3])
      await chats.sendMessages({
        body: { id, text: `line ${id}` },
        sessionId: 'room',
        contentType: 'application/json',
      });
    await bus.close();
    await eventually(async () => expect(await keys('serviceBusSession')).toEqual(['1', '2', '3']));

    await eventually(async () => expect((await keys('timer')).length).toBeGreaterThanOrEqual(2));
    expect((await results('timer')).isWarm).toBe(true);
    expect(logOf(up).filter(({ level }) => level === 'error')).toEqual([]);
  }));
