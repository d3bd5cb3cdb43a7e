import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { currentPid, drover, plainEnvironment, startPlatform } from '../support/platform.js';
import { RecordsApi, type RecordsAnswer } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';

const statementTimeoutMs = 400;

describe('collections under faults', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const env = {
      DROVER_RECORDS_STATEMENT_TIMEOUT_MS: String(statementTimeoutMs),
      DROVER_DATABASE_POOL_SIZE: '3',
      DROVER_LOG_LEVEL: 'info',
    };
    const { up, ready } = await startPlatform(directory, { env });
    started(up);
    const api = await RecordsApi.of(ready);
    const url = new Secret((await readFile(path.join(directory, 'database-url'), 'utf8')).trim());
    const name = 'ledger';
    const fields = [{ name: 'n', type: 'integer', unique: true }];
    await api.post('/control/collections', { name, fields });
    const pidOf = (role: string): number => currentPid(up, role);
    return { api, url, ready, pidOf };
  });

  it('loses no write that was confirmed while worker and PostgreSQL are killed, and each has one event', async () => {
    const { api, ready, pidOf } = platform();
    const confirmed = new Set<number>();
    const answers: RecordsAnswer[] = [];
    const over = new AbortController();
    let next = 0;
    const writer = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const n = (next += 1);
        // A connection that breaks leaves the result unknown, as a 502 does.
        const answer = await api.post('/api/ledger', { n }).catch(() => undefined);
        if (answer?.status === 201) confirmed.add(n);
        else if (answer) answers.push(answer);
      }
    };
    const writers = Array.from({ length: 4 }, writer);
    const progress = async (): Promise<void> => {
      const before = confirmed.size;
      await eventually(() => confirmed.size > before + 20);
    };
    await progress();
    for (const role of ['collection-worker-1', 'collection-worker-1']) {
      const pid = pidOf(role);
      process.kill(pid, 'SIGKILL');
      await progress();
      await eventually(() => expect(pidOf(role)).not.toBe(pid)); // its report may come after its first answers
    }
    process.kill(ready.pids.postgres ?? Number.NaN, 'SIGKILL');
    await progress();
    process.kill(pidOf('collection-worker-1'), 'SIGTERM');
    await progress();
    over.abort();
    await Promise.all(writers);
    for (const { status, headers, body } of answers) {
      expect([502, 503]).toContain(status);
      if (status === 503) expect(headers.get('retry-after')).toBe('1');
      expect(body.errors[0].code).toMatch(
        /^(DATABASE_|GATEWAY_COLLECTION_WORKER_|SHUTTING_DOWN|RECORD_STATEMENT_TIMEOUT|RECORD_CONNECTIONS_BUSY)/,
      );
    }
    const stored = await everyPage(api, '/api/ledger?shape=flat&page[size]=1000', ({ n }) => n);
    expect(new Set(stored).size).toBe(stored.length);
    expect([...confirmed].filter((n) => !stored.includes(n))).toEqual([]);
    const events = await everyPage(api, '/api/ledger/_changes?since=0&page[size]=1000', ({ kind, after }) => [
      kind,
      after.n,
    ]);
    expect(events.map(([kind]) => kind)).toEqual(events.map(() => 'created'));
    const ascending = (one: number, other: number): number => one - other;
    expect(events.map(([, n]) => n).toSorted(ascending)).toEqual(stored.toSorted(ascending));
  });

  it('takes a worker of another machine in, and loses no request when that one hands over and stops', async () => {
    const { api, ready, url } = platform();
    const scopes = ['workers:join'];
    const { body: key } = await api.post('/control/keys', { name: 'workers', scopes });
    const env = {
      DATABASE_URL: url.reveal(),
      CONTROL_PLANE_URL: ready.urls.public,
      DROVER_WORKER_JOIN_KEY: key.secret,
      DROVER_COLLECTION_WORKER_PORT: '0',
      WORKER_ID: 'another',
      WORKER_LABELS: 'rack=7',
    };
    const worker = new Child(process.execPath, [drover, 'collection-worker'], { env: plainEnvironment(env) });
    const statusOf = async (): Promise<string | undefined> => {
      const { body } = await api.get('/control/assignments?collection=ledger');
      return body.assignments.find(({ workerId }: { workerId: string }) => workerId === 'another')?.status;
    };
    try {
      await eventually(async () => {
        const { body } = await api.get('/control/workers/another');
        expect(body).toMatchObject({ status: 'READY', labels: { rack: '7' } });
      });
      await api.post('/control/assignments/assign', { collection: 'ledger', workerId: 'another' });
      await eventually(async () => expect(await statusOf()).toBe('READY'));
      const over = new AbortController();
      const statuses: unknown[] = [];
      const writers = [1, 2, 3, 4].map(async (writer) => {
        for (let n = writer * 1_000_000; !over.signal.aborted; n += 1)
          statuses.push(await api.post('/api/ledger', { n }).then(({ status }) => status, String));
      });
      worker.kill('SIGTERM');
      expect(await worker.exited).toEqual({ code: 0, signal: null });
      over.abort();
      await Promise.all(writers);
      expect(worker.output).toContain('other workers have taken over all collections of another');
      expect(statuses.filter((status) => status !== 201)).toEqual([]);
      expect([statuses.length > 20, ['REMOVED', undefined]]).toEqual([
        true,
        expect.arrayContaining([await statusOf()]),
      ]);
    } finally {
      await worker.end();
    }
  });

  it('answers 503 with the limit while a table is locked and all connections wait, and recovers', async () => {
    const { api, url } = platform();
    const database = new Database({ url, applicationName: 'test', poolSize: 1, ...quietIo });
    try {
      const [row] = await database.query<{ table: string }>(
        `select v.table_name as table from drover.collection_versions v
         join drover.collections c on c.id = v.collection_id where c.name = 'ledger'`,
      );
      const locked = await database.transaction(async (tx) => {
        await tx.query(`lock table drover_records."${row?.table}" in access exclusive mode`);
        return Promise.all(Array.from({ length: 60 }, () => api.get('/api/ledger?page[size]=1')));
      });
      const codes = new Set(locked.map(({ body }) => body.errors[0].code as string));
      expect(locked.map(({ status }) => status)).toEqual(locked.map(() => 503));
      expect(locked.every(({ headers }) => headers.get('retry-after') === '1')).toBe(true);
      // Three connections wait for the lock, and are free again for the next three after the limit: most requests get none in time.
      expect(codes).toEqual(new Set(['RECORD_STATEMENT_TIMEOUT', 'RECORD_CONNECTIONS_BUSY']));
      const timedOut = locked.find(({ body }) => body.errors[0].code === 'RECORD_STATEMENT_TIMEOUT');
      expect(timedOut?.body.errors[0].detail).toContain(`${statementTimeoutMs} ms`);
      await eventually(async () => (await api.get('/api/ledger?page[size]=1')).status === 200);
    } finally {
      await database.stop();
    }
  });

  it('refuses a huge or deep body, and a client that leaves an export leaves nothing behind', async () => {
    const { api, url } = platform();
    const huge = await api.post('/api/ledger', { n: 'x'.repeat(11_000_000) });
    expect([huge.status, huge.body.errors[0].code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const deep = `${'{"n":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    expect([400, 422]).toContain((await api.send('/api/ledger', deep)).status);
    const leaving = new AbortController();
    const response = await api.open('/api/ledger/export', leaving.signal);
    await response.body?.getReader().read();
    leaving.abort();
    const database = new Database({ url, applicationName: 'test', poolSize: 1, ...quietIo });
    try {
      await eventually(async () => {
        const busy = await database.query(
          `select from pg_stat_activity where application_name like 'drover collection-worker%' and state like '%in transaction%'`,
        );
        return busy.length === 0;
      });
    } finally {
      await database.stop();
    }
    await eventually(async () => expect((await api.get('/api/ledger?page[size]=1')).status).toBe(200));
  });
});

/** Reads a list to its end by the link to the next page, or the position to continue from. */
// oxlint-disable-next-line typescript/no-explicit-any -- as the body of an answer
async function everyPage<T>(api: RecordsApi, first: string, pick: (item: any) => T): Promise<T[]> {
  const all: T[] = [];
  for (let next: string | undefined = first; next !== undefined; ) {
    const address: string = next;
    // A busy machine may take longer for a page than the limit of this platform allows.
    const { body } = await eventually(async () => {
      const answer = await api.get(address);
      expect(answer.status).toBe(200);
      return answer;
    });
    all.push(...body.data.map(pick));
    next = body.meta.hasMore ? body.links.next : undefined;
  }
  return all;
}
