import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  developmentPorts,
  developmentSettings,
  encoded,
  queueOf,
  receipts,
  saidAboutEmulators,
  startedEmulators,
} from '../support/emulators.js';
import { ordersApp, startRuntime } from '../support/functions.js';
import { readyLine, startUp, withDataDirectory } from '../support/platform.js';

describe('drover up', () => {
  it('uses the emulators of another, and goes on by itself when they are gone', () =>
    withDataDirectory(async (directory, started) => {
      const settings = developmentSettings(await developmentPorts());
      const first = started(startUp(`${directory}-1`, { args: ['--json', '--app', ordersApp], env: settings }));
      const { emulatorsPage } = await readyLine(first);
      expect((await fetch(emulatorsPage ?? '')).status).toBe(200);
      await eventually(() => expect(saidAboutEmulators(first)).not.toEqual([]));
      const second = started(startUp(`${directory}-2`, { args: ['--json', '--app', ordersApp], env: settings }));
      await readyLine(second);
      await eventually(() => expect(saidAboutEmulators(second).join()).toContain('(already running)'));
      process.kill(first.pid, 'SIGKILL'); // the leash ends its emulators
      await eventually(() => expect(startedEmulators(first).filter(isAlive)).toEqual([]));
      await eventually(() => expect(saidAboutEmulators(second).join()).toContain('this one serves storage queues'));
      const orders = await queueOf(settings.AzureWebJobsStorage, 'orders');
      const results = await queueOf(settings.AzureWebJobsStorage, 'receipts');
      await orders.sendMessage(encoded({ id: 7, amount: 1, price: 2 }));
      await eventually(async () => expect([...(await receipts(results, new Set()))]).toEqual([7]));
    }));
});

describe('drover-runtime', () => {
  it('starts and restarts the emulators by itself', () =>
    withDataDirectory(async (directory) => {
      const settings = developmentSettings(await developmentPorts());
      const runtime = await startRuntime({ apps: [ordersApp], env: { ...settings, DROVER_DATA_DIR: directory } });
      try {
        const orders = await eventually(() => queueOf(settings.AzureWebJobsStorage, 'orders'));
        const results = await queueOf(settings.AzureWebJobsStorage, 'receipts');
        await eventually(() => expect(startedEmulators(runtime.child)).toHaveLength(1));
        for (const pid of startedEmulators(runtime.child)) process.kill(pid, 'SIGKILL');
        await eventually(() => expect(startedEmulators(runtime.child)).toHaveLength(2));
        await eventually(() => orders.sendMessage(encoded({ id: 3, amount: 1, price: 2 })));
        await eventually(async () => expect([...(await receipts(results, new Set()))]).toEqual([3]));
        expect(runtime.said).toContain('emulators for this application');
      } finally {
        await runtime.stop();
      }
      await eventually(() => expect(startedEmulators(runtime.child).filter(isAlive)).toEqual([]));
    }));
});
