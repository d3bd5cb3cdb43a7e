import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { startPlatform, startUp, withDataDirectory } from '../support/platform.js';
import { RecordsApi, type RecordsAnswer } from '../support/records-api.js';

describe('a full disk', () => {
  it.skipIf(!canMount())('at the first start is named, and nothing half-made stays', () =>
    withDataDirectory(async (directory, started) => {
      await mkdir(directory);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0711', 'drover-test', directory]);
      try {
        const refused = startUp(path.join(directory, 'data'));
        expect((await refused.exited).code).not.toBe(0);
        expect(refused.stdout).toEqual([]);
        const message = refused.stderr.join('\n');
        expect(message).toContain(`The disk of ${directory}`);
        expect(message).toContain('is full. Free');
        execFileSync('mount', ['-o', 'remount,size=256m', directory]);
        const { up, client } = await startPlatform(path.join(directory, 'data'));
        started(up);
        expect(await client.getReadiness()).toMatchObject({ status: 'ready' });
        up.kill('SIGTERM');
        await up.exited;
      } finally {
        execFileSync('umount', ['-l', directory]);
      }
    }),
  );

  it.skipIf(!canMount())('while it runs: answers say so, nothing answered is lost, and it recovers', () =>
    withDataDirectory(async (directory, started) => {
      await mkdir(directory);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=0711', 'drover-test', directory]);
      try {
        const { up, ready, client } = await startPlatform(path.join(directory, 'data'));
        started(up);
        const { key } = await client.createApiKey({ body: { name: 'before', scopes: ['control:read'] } });
        const records = await RecordsApi.of(ready);
        await records.post('/control/collections', { name: 'notes', fields: [{ name: 'text', type: 'string' }] });
        const ballast = path.join(directory, 'ballast');
        execFileSync('sh', ['-c', `cat /dev/zero > '${ballast}' 2>/dev/null || true`]);
        const made = [key.id];
        const refused: unknown[] = [];
        for (let n = 0; n < 4_000 && refused.length === 0; n += 1) {
          await client.createApiKey({ body: { name: `n${n} ${'x'.repeat(90)}`, scopes: ['control:read'] } }).then(
            (created) => made.push(created.key.id),
            (error: unknown) => refused.push(error),
          );
        }
        expect(refused[0]).toMatchObject({
          status: expect.toSatisfy((status: number) => status === 503 || status === 507),
        });
        expect((await client.getHealth()).status).toBeOneOf(['ready', 'unready']);
        const written = await writeUntilFull(records);
        expect([503, 507]).toContain(written.refused?.status);
        expect(written.refused?.headers.get('retry-after')).toBe('1');
        // Alive, but not ready: no execution could be stored.
        const url = `${ready.urls.public}/readyz`;
        const red = await eventually(async () => {
          const answer = await fetch(url);
          const report = (await answer.json()) as { readonly problems: Readonly<Record<string, string>> };
          return answer.status === 503 && report;
        });
        expect(red).toMatchObject({ problems: { database: expect.stringMatching(/^DATABASE_/) } });
        execFileSync('rm', [ballast]);
        await eventually(async () => (await fetch(url)).status === 200);
        await eventually(() => client.createApiKey({ body: { name: 'after', scopes: ['control:read'] } }));
        const kept = new Set<string>();
        let after: string | undefined;
        do {
          const page = await client.listApiKeys({ query: { limit: 200, ...(after !== undefined && { after }) } });
          for (const { id } of page.keys) kept.add(id);
          after = page.next;
        } while (after !== undefined);
        expect(made.filter((id) => !kept.has(id))).toEqual([]);
        expect((await records.post('/api/notes', { text: 'after' })).status).toBe(201);
        for (const id of written.confirmed) expect((await records.get(`/api/notes/${id}`)).status).toBe(200);
        up.kill('SIGTERM');
        await up.exited;
      } finally {
        execFileSync('umount', ['-l', directory]);
      }
    }),
  );
});

/** Creates records until one is refused. Returns the ids of those that were confirmed. */
async function writeUntilFull(
  records: RecordsApi,
): Promise<{ readonly confirmed: readonly string[]; readonly refused: RecordsAnswer | undefined }> {
  const confirmed: string[] = [];
  for (let n = 0; n < 500; n += 1) {
    const answer = await records.post('/api/notes', { text: 'x'.repeat(20_000) });
    if (answer.status !== 201) return { confirmed, refused: answer };
    confirmed.push(answer.body.data.id as string);
  }
  return { confirmed, refused: undefined };
}

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'drover-probe', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
