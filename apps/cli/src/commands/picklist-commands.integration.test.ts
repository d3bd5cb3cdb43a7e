import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CollectionPlan, PicklistView } from '@drover/contracts';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { runAnswered, type PlatformAnswer } from './answered-program.test.fixture.js';

const countries: PicklistView = {
  name: 'countries',
  displayName: 'Countries',
  values: ['de', 'us'],
  version: 2,
  usedBy: [{ collection: 'addresses', field: 'country' }],
  updatedAt: '2030-01-02T00:00:00.000Z',
  updatedBy: 'key',
};
const plans: readonly CollectionPlan[] = [{ collection: 'addresses', action: 'create', steps: [], refusals: [] }];

/** Runs a command line against a platform with one picklist. */
function run(argv: readonly string[], stored: readonly PicklistView[] = [countries]) {
  const puts: string[] = [];
  const answerTo = (request: string): PlatformAnswer => {
    const [method = '', url = ''] = request.split(' ');
    if (method === 'DELETE') return { status: 204 };
    if (method === 'POST') return { status: 200, body: { plans } };
    if (request === 'PUT /control/collections')
      return { status: 200, body: { plans, collections: [{ name: 'addresses', version: 1 }] } };
    if (method === 'PUT') {
      puts.push(url);
      const [known] = stored;
      // The answer for a picklist that is in use comes while records are still checked.
      const isDone = url !== '/control/picklists/countries';
      return { status: isDone ? 200 : 202, body: isDone ? { ...countries, version: 1, values: ['de', 'fr'] } : known };
    }
    if (url === '/control/picklists') return { status: 200, body: { picklists: stored } };
    return { status: 200, body: puts.length > 0 ? { ...countries, version: 3, values: ['de', 'fr'] } : countries };
  };
  return runAnswered(argv, answerTo);
}

describe('drover picklists', () => {
  it('lists picklists, and says how to define the first', async () => {
    expect(await run(['picklists', 'list'])).toMatchObject({
      stdout: 'countries  version 2  2 values  used by 1 field  2030-01-02T00:00:00.000Z\n',
      asked: ['GET /control/picklists'],
    });
    expect((await run(['picklists', 'list'], [])).stderr).toContain('drover picklists set <picklist>');
  });

  it('shows a picklist as a file that can be applied', async () => {
    expect((await run(['picklists', 'show', 'countries'])).stdout).toBe(
      'picklists:\n  - name: countries\n    displayName: Countries\n    values:\n      - de\n      - us\n',
    );
  });

  it('sets values, keeps the rest of the picklist, and waits until the change has ended', async () => {
    const set = await run(['picklists', 'set', 'countries', 'de', 'fr']);
    expect(set).toMatchObject({ stdout: 'The picklist countries has version 3.\n', exitCode: 0 });
    expect(set.bodies).toEqual([{ name: 'countries', displayName: 'Countries', values: ['de', 'fr'] }]);
    expect(await run(['picklists', 'set', 'countries'])).toMatchObject({ exitCode: 1, asked: [] });
  });

  it('deletes a picklist after the caller has agreed', async () => {
    expect(await run(['picklists', 'delete', 'countries'])).toMatchObject({ exitCode: 1 });
    expect((await run(['picklists', 'delete', 'countries', '--yes'])).asked).toEqual([
      'GET /control/picklists/countries',
      'DELETE /control/picklists/countries',
    ]);
  });
});

describe('drover collections apply with picklists', () => {
  const fields = [{ name: 'country', type: 'PICKLIST', picklist: 'places' }];
  const file = {
    picklists: [
      { name: 'places', values: ['de', 'fr'] },
      { name: 'countries', values: ['de', 'fr'] },
    ],
    collections: [{ name: 'addresses', fields }],
  };

  it('plans with the values of new ones, and applies them before the collections', () =>
    withScratchDirectory(async (directory) => {
      const name = path.join(directory, 'definitions.json');
      await writeFile(name, JSON.stringify(file));
      const planned = await run(['collections', 'plan', name]);
      expect(planned.stdout).toBe(
        'places: new picklist\n  + de\n  + fr\ncountries: changed picklist\n  + fr\n  - us\naddresses: new collection\n',
      );
      expect(planned.bodies).toEqual([
        { collections: [{ name: 'addresses', fields: [{ name: 'country', type: 'PICKLIST', values: ['de', 'fr'] }] }] },
      ]);
      const applied = await run(['collections', 'apply', name, '--yes']);
      expect(applied.stdout).toContain('The collection addresses has version 1.');
      const changes = applied.asked.filter((request) => request.startsWith('PUT'));
      expect([...new Set(changes)]).toEqual([
        'PUT /control/picklists/places',
        'PUT /control/picklists/countries',
        'PUT /control/collections',
      ]);
      expect(applied.bodies.at(-1)).toEqual({ collections: file.collections });
    }));

  it('does nothing for picklists that are as the file says', () =>
    withScratchDirectory(async (directory) => {
      const name = path.join(directory, 'picklists.yaml');
      await writeFile(name, 'picklists: [{ values: [de, us], displayName: Countries, name: countries }]');
      expect((await run(['collections', 'apply', name])).asked).toEqual(['GET /control/picklists']);
    }));
});
