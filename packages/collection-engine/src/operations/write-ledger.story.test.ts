import path from 'node:path';
import { storageModes } from '@drover/contracts';
import { Database, migrate, type EmbeddedPostgres } from '@drover/database';
import { quietIo, startScratchPostgres } from '@drover/database/testing';
import { Child, eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema, createCollectionTables, testCollection } from '../testing/index.js';

let scratch: { readonly server: EmbeddedPostgres; readonly stop: () => Promise<void> };
let database: Database;
let collections: readonly CollectionModel[];
const children = new Set<Child>();

beforeAll(async () => {
  scratch = await startScratchPostgres();
  database = new Database({ url: scratch.server.url, applicationName: 'story', poolSize: 2, ...quietIo });
  await migrate(database, collectionTestSchema, { release: 'test', ...quietIo });
  collections = storageModes.map((storageMode) =>
    testCollection({
      name: `ledger_${storageMode.toLowerCase()}`,
      storageMode,
      fields: [
        { name: 'name', type: 'STRING', unique: true },
        { name: 'count', type: 'INTEGER' },
      ],
    }),
  );
  for (const collection of collections) await createCollectionTables(database, collection);
});
afterAll(async () => {
  await Promise.all([...children].map((child) => child.end()));
  await database.stop();
  await scratch.stop();
});

const program = path.join(import.meta.dirname, '../../dist/testing/ledger-writer.js');

function startWriter(): Child {
  const stored = collections.map(({ id, tenantId, version, definition, table }) =>
    JSON.stringify({ id, tenantId, version, definition, table, columns: {} }),
  );
  const child = new Child(process.execPath, [program, scratch.server.url.reveal(), ...stored]);
  children.add(child);
  return child;
}

const acknowledges = (child: Child, writes: number): Promise<void> =>
  eventually(() => expect(child.stdout.length).toBeGreaterThan(writes));

/** One line for each acknowledged write that has no event, and for each record whose row and events disagree. */
async function violations(acknowledged: readonly string[]): Promise<string[]> {
  const events = await database.query<{ line: string }>(
    `select kind || ' ' || record_id || ' ' || version as line from drover.record_events`,
  );
  const written = new Set(events.map(({ line }) => line));
  const lost = acknowledged.filter((line) => !written.has(line)).map((line) => `lost: ${line}`);
  const rows = collections
    .map(({ table, id }) => `select '${id}'::uuid as collection_id, id, version from drover_records."${table}"`)
    .join(' union all ');
  const torn = await database.query<{ id: string }>(
    `with row as (${rows}), story as (
       select collection_id, record_id, max(version) as version, count(*) as events, bool_or(kind = 'deleted') as deleted
       from drover.record_events group by collection_id, record_id)
     select coalesce(row.id, story.record_id) as id from row full join story on story.record_id = row.id
     where story.events is distinct from story.version or story.deleted is distinct from (row.id is null)
       or (row.id is not null and row.version is distinct from story.version)`,
  );
  return [...lost, ...torn.map(({ id }) => `torn: ${id}`)];
}

describe('writes of records', () => {
  it('are all there with their events after kill -9 of the writer and of the server', async () => {
    const acknowledged: string[] = [];
    for (const victim of ['writer', 'server', 'writer']) {
      const child = startWriter();
      await acknowledges(child, 300);
      if (victim === 'server') {
        process.kill(scratch.server.pid ?? Number.NaN, 'SIGKILL');
        await acknowledges(child, child.stdout.length + 300); // it goes on once the server has recovered
      }
      child.kill('SIGKILL');
      await child.exited;
      acknowledged.push(...child.stdout);
    }
    // A statement of a killed writer may still run: its end is awaited with the locks of its rows.
    await eventually(async () => {
      const [row] = await database.query<{ busy: number }>(
        `select count(*) as busy from pg_stat_activity where application_name = 'ledger'`,
      );
      expect(row?.busy).toBe(0);
    });
    expect(acknowledged.length).toBeGreaterThanOrEqual(1_200);
    expect(await violations(acknowledged)).toEqual([]);
  });
});
