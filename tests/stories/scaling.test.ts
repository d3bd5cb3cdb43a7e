import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { QueueClient } from '@azure/storage-queue';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { developmentPorts, developmentSettings, encoded, queueOf } from '../support/emulators.js';
import { answerOf, Load, type Answer } from '../support/functions.js';
import { readyLine, startUp, withDataDirectory, type ReadyLine } from '../support/platform.js';
import {
  appsClient,
  deployScaled,
  ledgerOf,
  missingIn,
  scalingOf,
  untilAtZero,
  type AppsClient,
} from '../support/scaling.js';

interface ScaledPlatform {
  readonly ready: ReadyLine;
  readonly client: AppsClient;
  readonly ledger: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly queue: () => Promise<QueueClient>;
}

/** A platform with emulators on free ports, for one test. */
async function withPlatform(use: (platform: ScaledPlatform) => Promise<void>): Promise<void> {
  const { AzureWebJobsStorage, DROVER_EMULATORS } = developmentSettings(await developmentPorts());
  await withDataDirectory(async (directory, started) => {
    const ledger = path.join(path.dirname(directory), 'ledger');
    const up = started(startUp(directory, { args: ['--json'], env: { DROVER_EMULATORS } }));
    const ready = await readyLine(up);
    const client = await appsClient(ready);
    const settings = { AzureWebJobsStorage, LEDGER_FILE: ledger };
    await use({ ready, client, ledger, settings, queue: () => queueOf(AzureWebJobsStorage, 'work') });
  });
}

async function sendAll(queue: QueueClient, from: number, to: number): Promise<void> {
  let next = from;
  const send = async (): Promise<void> => {
    while (next < to) await queue.sendMessage(encoded({ n: next++ }));
  };
  await Promise.all(Array.from({ length: 16 }, send));
}

function versionUrl({ urls }: ReadyLine): string {
  return `${urls.public}/api/version`;
}

describe('an application that scales', () => {
  it('runs a message that finds no worker, grows with its backlog, and goes back to zero', async () => {
    await withPlatform(async ({ client, ledger, settings, queue }) => {
      const scaling = { idleMs: 1_000, maxWorkers: 4 };
      await deployScaled(client, { ...settings, WORK_MS: '20' }, { scaling });
      await untilAtZero(client);
      const work = await queue();

      await sendAll(work, 0, 1);
      await eventually(() => missingIn(ledger, 1).length === 0);
      await untilAtZero(client);

      await sendAll(work, 1, 5_000);
      await eventually(() => missingIn(ledger, 5_000).length === 0, 120_000);
      expect(new Set(ledgerOf(ledger).map(({ pid }) => pid)).size).toBeGreaterThan(2);
      await untilAtZero(client);
      const { decisions, why } = await scalingOf(client);
      expect(Math.max(...decisions.map(({ desired }) => desired))).toBeGreaterThan(1);
      expect(why).not.toBe('');
    });
  });

  it('serves the first request of an application at zero', async () => {
    await withPlatform(async ({ ready, client, settings }) => {
      await deployScaled(client, settings, { scaling: { idleMs: 1_000 } });
      await untilAtZero(client);
      const answers = await Promise.all(Array.from({ length: 20 }, () => answerOf(() => fetch(versionUrl(ready)))));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    });
  });

  it('says of each call that woke an application where its time went', async () => {
    await withPlatform(async ({ ready, client, settings }) => {
      await deployScaled(client, settings, { scaling: { idleMs: 1_000 } });
      const { url, apiKey } = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as Record<string, string>;
      const request = async (address: string, init: RequestInit = {}): Promise<Readonly<Record<string, unknown>>> => {
        const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
        return (await (await fetch(`${url}/v1/${address}`, { ...init, headers })).json()) as Record<string, unknown>;
      };
      const execute = async (): Promise<Readonly<Record<string, unknown>>> => {
        const body = JSON.stringify({ input: {} });
        const { executionId, status } = await request('functions/version:invoke', { method: 'POST', body });
        expect(status).toBe('success');
        return await request(`executions/${String(executionId)}`);
      };
      await eventually(() => execute()); // until the control plane knows the function
      await untilAtZero(client);
      const { coldStartMs } = (await execute()) as { readonly coldStartMs: Readonly<Record<string, number>> };
      expect(Object.keys(coldStartMs)).toEqual(['queued', 'decided', 'process', 'connect', 'reload', 'load', 'run']);
      expect((coldStartMs['reload'] ?? 0) + (coldStartMs['load'] ?? 0)).toBeGreaterThan(0);
      // A slow machine may be back at zero before the next call.
      await eventually(async () => expect(await execute()).not.toHaveProperty('coldStartMs'));
    });
  });

  it('loses no message while workers, runtime and platform are killed', async () => {
    await withPlatform(async ({ ready, client, ledger, settings, queue }) => {
      await deployScaled(client, { ...settings, WORK_MS: '5' }, { scaling: { idleMs: 1_000, maxWorkers: 3 } });
      const work = await queue();
      const messages = 3_000;
      const sending = sendAll(work, 0, messages);
      const ran = (): number => messages - missingIn(ledger, messages).length;
      await eventually(() => ran() > 300);
      for (const pid of new Set(ledgerOf(ledger).map((entry) => entry.pid)))
        if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      await eventually(() => ran() > 800);
      process.kill(ready.pids.platform, 'SIGKILL');
      await eventually(() => ran() > 1_300);
      process.kill(ready.pids['runtime-1'] ?? Number.NaN, 'SIGKILL');
      await sending;
      await eventually(() => ran() === messages, 90_000);
      await untilAtZero(client, 60_000);
      expect(ledgerOf(ledger).length).toBeGreaterThanOrEqual(messages);
    });
  });

  it('answers every request while versions are deployed and rolled back', async () => {
    await withPlatform(async ({ ready, client, settings }) => {
      const first = await deployScaled(client, { ...settings, APP_VERSION: '1' }, { scaling: { minWorkers: 1 } });
      const url = versionUrl(ready);
      await eventually(async () => (await answerOf(() => fetch(url))).status === 200);
      const load = new Load(() => fetch(url), { atOnce: 8 });
      const versionsSince = (from: number): Set<string> =>
        new Set(load.answers.slice(from).map(({ text }: Answer) => (JSON.parse(text) as { version: string }).version));
      const settled = (version: string) => async (): Promise<boolean> => {
        const from = load.answers.length;
        await eventually(() => load.answers.length > from + 50);
        return [...versionsSince(from)].join() === version;
      };
      try {
        const second = await deployScaled(client, { ...settings, APP_VERSION: '2' });
        await eventually(settled('2'));
        await client.setTraffic({ params: { app: 'scaled' }, body: { traffic: { [first]: 50, [second]: 50 } } });
        const from = load.answers.length;
        await eventually(() => load.answers.length > from + 200);
        expect([...versionsSince(from)].toSorted()).toEqual(['1', '2']);
        await client.rollBackApplication({ params: { app: 'scaled' }, body: { version: first } });
        await eventually(settled('1'));
      } finally {
        await load.stop();
      }
      expect(load.statuses).toEqual([200]);
    });
  });
});
