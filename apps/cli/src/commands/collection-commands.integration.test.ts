import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CollectionChangeView, CollectionPlan, CollectionView } from '@drover/contracts';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { runAnswered } from './answered-program.test.fixture.js';

const orders: CollectionView = {
  id: '01890000-0000-7000-8000-000000000001',
  name: 'orders',
  version: 3,
  definition: { name: 'orders', fields: [{ name: 'number', type: 'STRING', required: true }] },
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: 'a'.repeat(16),
  updatedAt: '2030-01-02T00:00:00.000Z',
  updatedBy: 'b'.repeat(16),
};
const change: CollectionPlan = {
  collection: 'orders',
  action: 'change',
  fromVersion: 3,
  steps: [
    { about: 'Add the field note, STRING', field: 'note', losesValues: false },
    { about: 'Remove the field old', field: 'old', losesValues: true },
  ],
  refusals: [],
};
const nothing: CollectionPlan = { collection: 'lines', action: 'none', fromVersion: 1, steps: [], refusals: [] };

interface Platform {
  readonly plans?: readonly CollectionPlan[];
  /** Answered to one request after the other. */
  readonly changes?: readonly CollectionChangeView[];
  /** Answered to every request. */
  readonly error?: { readonly status: number; readonly body: object };
}

/** Runs a command line against a platform with one collection. */
function run(argv: readonly string[], { plans = [change, nothing], changes = [], error }: Platform = {}) {
  let polls = 0;
  const answerTo = (method: string, url: string): unknown => {
    if (method === 'POST') return { plans };
    const [running] = changes;
    if (method === 'PUT')
      return { plans, collections: [running ? { ...orders, change: running } : { ...orders, version: 4 }] };
    if (url.endsWith('/changes')) return { changes: [changes[polls++]] };
    if (url.endsWith('/versions')) return { versions: [{ version: 3, createdAt: orders.updatedAt, createdBy: 'key' }] };
    if (url.startsWith('/control/collections?'))
      return url.includes('after=')
        ? { collections: [{ ...orders, name: 'zoo', definition: { ...orders.definition, name: 'zoo' } }] }
        : { collections: [orders], next: 'orders' };
    return orders;
  };
  return runAnswered(argv, (request) => {
    const [method = '', url = ''] = request.split(' ');
    if (error) return error;
    return method === 'DELETE' ? { status: 204 } : { status: 200, body: answerTo(method, url) };
  });
}

const withFile = (use: (file: string) => Promise<void>): Promise<void> =>
  withScratchDirectory(async (directory) => {
    const file = path.join(directory, 'orders.yaml');
    await writeFile(file, 'name: orders\nfields:\n  - { name: number, type: string }\n');
    await use(file);
  });
const sent = { collections: [{ name: 'orders', fields: [{ name: 'number', type: 'string' }] }] };

describe('drover collections', () => {
  it('lists all pages', async () => {
    const { stdout, asked } = await run(['collections', 'list']);
    expect(asked).toEqual(['GET /control/collections?limit=200', 'GET /control/collections?limit=200&after=orders']);
    expect(stdout).toBe(
      [
        'orders  version 3  PHYSICAL_TABLE  1 field  2030-01-02T00:00:00.000Z',
        'zoo     version 3  PHYSICAL_TABLE  1 field  2030-01-02T00:00:00.000Z',
        '',
      ].join('\n'),
    );
  });

  it('shows a definition that can be applied again, and an earlier version', async () => {
    const { stdout } = await run(['collections', 'show', 'orders']);
    expect(stdout).toBe('name: orders\nfields:\n  - name: number\n    type: STRING\n    required: true\n');
    const { asked } = await run(['collections', 'show', 'orders', '--version', '2']);
    expect(asked).toEqual(['GET /control/collections/orders/versions/2']);
  });

  it('lists versions with time and author', async () => {
    expect((await run(['collections', 'versions', 'orders'])).stdout).toBe('    3  2030-01-02T00:00:00.000Z  key\n');
  });

  it('shows a plan and changes nothing', () =>
    withFile(async (file) => {
      const { stdout, asked, bodies, exitCode } = await run(['collections', 'plan', file]);
      expect(asked).toEqual(['POST /control/collections/plan']);
      expect(bodies).toEqual([sent]);
      expect(exitCode).toBe(0);
      expect(stdout).toBe(
        [
          'orders: version 3 to 4',
          '  + Add the field note, STRING',
          '  ! Remove the field old',
          '1 collection unchanged.',
          '',
        ].join('\n'),
      );
    }));

  it('applies a plan only with a consent', () =>
    withFile(async (file) => {
      const refused = await run(['collections', 'apply', file]);
      expect(refused).toMatchObject({ exitCode: 1, asked: ['POST /control/collections/plan'] });
      expect(refused.stdout).toContain('Remove the field old');
      expect(refused.stderr).toContain('--yes');
      const applied = await run(['collections', 'apply', file, '--yes']);
      expect(applied.asked).toEqual(['POST /control/collections/plan', 'PUT /control/collections']);
      expect(applied.bodies).toEqual([sent, sent]);
      expect(applied.stdout).toMatch(/The collection orders has version 4\.\n$/);
    }));

  it('follows a change that takes longer than the request', () =>
    withFile(async (file) => {
      const change: CollectionChangeView = {
        id: orders.id,
        state: 'running',
        fromVersion: 3,
        step: 'Fill "note"',
        recordsDone: 5,
        recordsTotal: 10,
        refusals: [],
        createdAt: orders.createdAt,
        createdBy: 'key',
      };
      const done = await run(['collections', 'apply', file, '--yes'], {
        changes: [change, { ...change, state: 'done' }],
      });
      expect(done).toMatchObject({ exitCode: 0, stderr: 'orders: Fill "note" (5 of 10 records)\n' });
      expect(done.stdout).toContain('The collection orders has version 4.\n');
      expect(done.asked.filter((one) => one === 'GET /control/collections/orders/changes')).toHaveLength(2);
      const refusals = [{ path: '/fields/0', message: '3 records have no value.', records: 3 }];
      const refused = await run(['collections', 'apply', file, '--yes'], {
        changes: [{ ...change, state: 'refused', refusals }],
      });
      expect(refused).toMatchObject({ exitCode: 1 });
      expect(refused.stderr).toContain('was refused. 3 records have no value.');
    }));

  it('asks for nothing where nothing changes, and applies nothing that is refused', () =>
    withFile(async (file) => {
      const same = await run(['collections', 'apply', file], { plans: [nothing] });
      expect(same).toMatchObject({ exitCode: 0, stdout: '1 collection unchanged.\n' });
      const refusals = [{ path: '/fields/0/type', message: '12 records have text.', records: 12 }];
      const plans = [{ ...change, steps: [], refusals }];
      for (const verb of ['plan', 'apply']) {
        const { exitCode, stdout, asked } = await run(['collections', verb, file], { plans });
        expect(exitCode).toBe(1);
        expect(stdout).toContain('  refused: /fields/0/type: 12 records have text.\n');
        expect(asked).toEqual(['POST /control/collections/plan']);
      }
    }));

  it('names every problem of a definition', () =>
    withFile(async (file) => {
      const details = [
        { path: '/collections/0/fields/0/type', message: 'is unknown' },
        { path: '/collections/0/name', message: 'is reserved' },
      ];
      const body = { error: 'COLLECTION_DEFINITION_INVALID', message: 'Two problems.', requestId: 'r', details };
      const { stderr, exitCode } = await run(['collections', 'plan', file], { error: { status: 400, body } });
      expect(exitCode).toBe(1);
      expect(stderr).toBe(
        'drover: The definitions are invalid:\n  /collections/0/fields/0/type: is unknown\n  /collections/0/name: is reserved\n',
      );
    }));

  it('deletes the version that was shown, with a consent', async () => {
    expect(await run(['collections', 'delete', 'orders'])).toMatchObject({
      exitCode: 1,
      asked: ['GET /control/collections/orders'],
    });
    const deleted = await run(['collections', 'delete', 'orders', '--yes']);
    expect(deleted.asked[1]).toBe('DELETE /control/collections/orders?expectedVersion=3');
    expect(deleted.stdout).toBe('The collection orders is deleted.\n');
  });

  it('prints a client for all collections', async () => {
    const { stdout } = await run(['collections', 'client']);
    expect(stdout).toMatch(/export interface Orders .*export interface Zoo /s);
  });
});
