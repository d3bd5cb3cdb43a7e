import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { startPlatform } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** Long rows: an export of them does not fit into the buffers of its connections. */
const rowCount = 6_000;
const note = 'x'.repeat(5_000);

describe('imports, exports and clients that leave', () => {
  let database: Database | undefined;
  const platform = sharedPlatform(async (directory, started) => {
    // A statement that ends within this test was cancelled: its own limit is longer.
    const { up, ready } = await startPlatform(directory, { env: { DROVER_RECORDS_STATEMENT_TIMEOUT_MS: '60000' } });
    started(up);
    const api = await RecordsApi.of(ready);
    const url = new Secret((await readFile(path.join(directory, 'database-url'), 'utf8')).trim());
    const fields = [
      { name: 'n', type: 'integer', unique: true },
      { name: 'note', type: 'text' },
    ];
    await api.post('/control/collections', { name: 'parcels', fields });
    const opened = new Database({ url, applicationName: 'test', poolSize: 2, ...quietIo });
    database = opened;
    const [row] = await opened.query<{ table: string }>(
      `select '"drover_records"."' || table_name || '"' as table from drover.collection_versions`,
    );
    return { api, ready, database: opened, table: row?.table ?? '' };
  });
  afterAll(() => database?.stop());

  const countOf = async (from: string): Promise<number> => {
    const [row] = await platform().database.query<{ count: number }>(`select count(*) as count from ${from}`);
    return row?.count ?? 0;
  };

  it('import every row once although PostgreSQL is killed in the middle', async () => {
    const { api, ready, table } = platform();
    const lines = Array.from({ length: rowCount }, (_, n) => `${n},${note}\n`);
    const file = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from(`n,note\n${lines.slice(0, rowCount / 2).join('')}`);
      await eventually(async () => (await countOf(table)) > 0);
      process.kill(ready.pids.postgres ?? Number.NaN, 'SIGKILL');
      yield Buffer.from(lines.slice(rowCount / 2).join(''));
    };
    const report = (await (await api.upload('/api/parcels/import', 'text/csv', file())).text()).trim().split('\n');
    expect(JSON.parse(report.at(-1) ?? '')).toMatchObject({ kind: 'done', created: rowCount, rejected: 0 });
    await eventually(async () => expect(await countOf(table)).toBe(rowCount)); // its own connections were lost, too
    expect(await countOf('drover.record_events')).toBe(rowCount);
  });

  it('cancel the statements of a client that leaves', async () => {
    const { api, database: other, table } = platform();
    const leaving = new AbortController();
    const exported = await api.open('/api/parcels/export', leaving.signal);
    if (!exported.body) throw new Error('The export has no body.');
    const reader = exported.body.getReader();
    await reader.read();
    const [first] = (await api.get('/api/parcels?shape=flat&fields=n&page[size]=1')).body.data;
    const waiting = (): Promise<number> =>
      countOf(`pg_stat_activity where application_name = 'drover collection-worker' and wait_event_type = 'Lock'`);
    await other.transaction(async (tx) => {
      await tx.query(`lock table ${table} in access exclusive mode`);
      const requests = [
        api.leave('GET', '/api/parcels?sort=-n', leaving.signal),
        api.leave('GET', '/api/parcels/aggregate?agg[n]=sum', leaving.signal),
        api.leave('POST', '/api/parcels', leaving.signal, { n: -1 }),
        api.leave('PATCH', `/api/parcels/${first.id}`, leaving.signal, { n: -2 }),
        api.leave('DELETE', `/api/parcels/${first.id}`, leaving.signal),
        reader.read().then(async function readOn(chunk): Promise<void> {
          if (!chunk.done) return reader.read().then(readOn);
        }),
      ];
      await eventually(async () => expect(await waiting()).toBe(requests.length));
      leaving.abort();
      const left = await Promise.allSettled(requests);
      expect(left.map(({ status }) => status)).toEqual(left.map(() => 'rejected'));
      await eventually(async () => expect(await waiting()).toBe(0));
    });
    const { status, body } = await api.get('/api/parcels?shape=flat&fields=n&filter[n][lt]=1&sort=n');
    expect([status, body.data.map(({ n }: { n: number }) => n)]).toEqual([200, [0]]);
  });
});
