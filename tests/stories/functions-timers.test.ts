import { readFile } from 'node:fs/promises';
import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { app, logOf } from '../support/functions.js';
import { readyLine, startUp, withDataDirectory } from '../support/platform.js';

interface Seen {
  readonly ticks: readonly { readonly isPastDue: boolean }[];
  readonly starts: readonly unknown[];
  readonly events: readonly unknown[];
}

describe('drover up with an app of timers and pushed events', () => {
  it('stores their state in its database, hides it from functions, and goes on after kill -9 of anything', () =>
    withDataDirectory(async (directory, started) => {
      const env = {
        TickSchedule: '* * * * * *',
        TZ: 'UTC',
        DROVER_EMULATORS: 'off',
        AzureFunctionsWebHost__hostid: 'my-clock',
      };
      const up = started(startUp(directory, { args: ['--json', '--app', app('clockwork')], env }));
      const { urls, pids } = await readyLine(up);
      const get = async <T>(path: string, headers: Record<string, string> = {}): Promise<T> =>
        (await (await fetch(`${urls.public}${path}`, { headers })).json()) as T;
      const look = (): Promise<Seen> => get<Seen>('/api/seen');
      /** Waits for more runs than the worker has seen: a new worker begins at 0. */
      const ticksAgain = async (): Promise<void> => {
        const before = (await look().catch(() => ({ ticks: [] }))).ticks.length;
        await eventually(async () => {
          const { length } = (await look()).ticks;
          expect(length > before || length === 1).toBe(true);
        });
      };
      await ticksAgain();
      // The runtime waits for the database, which starts beside it.
      expect(logOf(up).filter(({ kind }) => kind === 'trigger-store.unavailable')).toEqual([]);

      const url = (await readFile(`${directory}/database-url`, 'utf8')).trim();
      const environment = await get<string[]>('/api/environment');
      const secrets = [url, new URL(url).password, `${directory}/database-url`, 'DATABASE_URL', 'DROVER_TRIGGER'];
      expect(environment.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);

      const database = new Database({ url: new Secret(url), applicationName: 'test', ...quietIo });
      const states = await eventually(async () => {
        const rows = await database.query<{ key: string; value: string }>(
          'select key, value from drover.trigger_states',
        );
        expect(rows).toHaveLength(2);
        return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
      });
      await database.stop();
      expect(Object.keys(states).toSorted()).toEqual(['timers/my-clock/onstart', 'timers/my-clock/tick']);
      expect(states['timers/my-clock/onstart']).toMatch(/0 0 0 1 1 \* UTC.*-01-01T00:00:00.000Z/);

      // Through the public port.
      const masterKey = (await readFile(`${directory}/functions-master-key`, 'utf8')).trim();
      const { keys } = await get<{ keys: { value: string }[] }>('/admin/host/systemkeys', {
        'x-functions-key': masterKey,
      });
      const push = (code = ''): Promise<Response> =>
        fetch(`${urls.public}/runtime/webhooks/EventGrid?functionName=onEvent&code=${encodeURIComponent(code)}`, {
          method: 'POST',
          headers: { 'aeg-event-type': 'Notification' },
          body: JSON.stringify([{ id: '1', data: {} }]),
        });
      expect((await push()).status).toBe(401);
      expect((await push(keys[0]?.value)).status).toBe(202);
      expect((await look()).events).toEqual([{ id: '1', data: {} }]);

      process.kill(pids['runtime-1'] ?? Number.NaN, 'SIGKILL');
      await eventually(() => !isAlive(pids['runtime-1'] ?? 0));
      await eventually(async () => expect((await look()).ticks.length).toBeGreaterThan(0));
      await eventually(async () => expect((await look()).starts).toHaveLength(1));

      process.kill(pids.postgres ?? Number.NaN, 'SIGKILL');
      await eventually(() => !isAlive(pids.postgres ?? 0));
      await ticksAgain();
      expect(logOf(up).filter(({ kind }) => kind === 'job-host.failed')).toEqual([]);
    }));
});
