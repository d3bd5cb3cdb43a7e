import { chown, mkdir, readFile, stat } from 'node:fs/promises';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  drover,
  plainEnvironment,
  processesOf,
  readyLine,
  startPlatform,
  withDataDirectory,
} from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';

describe('drover up, on other grounds', () => {
  it('keeps key and data over a restart, and puts no secret on a command line or into an environment', () =>
    withDataDirectory(async (directory, started) => {
      const first = await startPlatform(directory);
      started(first.up);
      const { key } = await first.client.createApiKey({ body: { name: 'kept', scopes: ['control:read'] } });
      const { apiKey } = JSON.parse(await readFile(first.ready.credentialsFile, 'utf8')) as { apiKey: string };
      const password = new URL((await readFile(`${directory}/database-url`, 'utf8')).trim()).password;
      for (const pid of processesOf(directory)) {
        const seen = `${await readFile(`/proc/${pid}/cmdline`, 'utf8')}${await readFile(`/proc/${pid}/environ`, 'utf8')}`;
        expect(seen).not.toContain(apiKey);
        expect(seen).not.toContain(password);
      }
      first.up.kill('SIGTERM');
      await first.up.exited;
      expect(first.up.output).not.toContain(apiKey);

      const second = await startPlatform(directory);
      started(second.up);
      const { keys } = await second.client.listApiKeys({ query: {} });
      expect(keys.map(({ id }) => id)).toContain(key.id);
      expect((JSON.parse(await readFile(second.ready.credentialsFile, 'utf8')) as { apiKey: string }).apiKey).toBe(
        apiKey,
      );
    }));

  it('uses the PostgreSQL that DATABASE_URL names and starts none of its own, and without collection workers serves collections itself', () =>
    withDataDirectory(async (directory, started) => {
      const host = await startPlatform(`${directory}/one`);
      started(host.up);
      const url = await readFile(`${directory}/one/database-url`, 'utf8');
      const env = { DATABASE_URL: url, DROVER_COLLECTION_WORKERS: '0' };
      const guest = await startPlatform(`${directory}/two`, { env });
      started(guest.up);
      expect(Object.keys(guest.ready.pids).toSorted()).toEqual(['platform', 'runtime-1']);
      // The platform process serves collections itself, under a name of its own.
      const api = await RecordsApi.of(guest.ready);
      const worker = expect.objectContaining({
        id: expect.stringMatching(/^collection-worker-1-[0-9a-f]{8}$/),
        status: 'READY',
        baseUrl: (await readFile(`${directory}/two/collection-worker-url`, 'utf8')).trim(),
      });
      await eventually(async () => expect((await api.get('/control/workers')).body.workers).toContainEqual(worker));
      await api.post('/control/collections', { name: 'notes', fields: [{ name: 'text', type: 'string' }] });
      expect((await api.get('/api/notes')).status).toBe(200);
      expect((await guest.client.getStatus()).database.version).toMatch(/^18\./);
    }));

  it.skipIf(process.getuid?.() !== 0)('runs as an ordinary user just as well as root', () =>
    withDataDirectory(async (directory, started) => {
      const nobody = { uid: 65_534, gid: 65_534 };
      await mkdir(directory);
      await chown(directory, nobody.uid, nobody.gid);
      const up = started(
        new Child(process.execPath, [drover, 'up', '--json', '--port', '0', '--data-dir', directory], {
          env: plainEnvironment({ HOME: directory }),
          ...nobody,
        }),
      );
      const { pids } = await readyLine(up);
      for (const pid of Object.values(pids)) expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
    }),
  );
});
