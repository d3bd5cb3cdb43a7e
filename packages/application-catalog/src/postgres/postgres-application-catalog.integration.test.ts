import { applicationChanged, type PublishedEvent } from '@drover/contracts';
import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { eventBusMigrations, PostgresEventBus } from '@drover/event-bus';
import { Secret, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CatalogMirror } from '../catalog-mirror.js';
import { SettingsSeal } from '../settings-seal.js';
import { applicationCatalogContract } from '../testing/application-catalog-contract.js';
import { acmeTenant, codeVersionAt, sampleDeployment } from '../testing/sample-deployments.js';
import { applicationCatalogMigrations } from './catalog-migrations.js';
import { PostgresApplicationCatalog } from './postgres-application-catalog.js';

const schema = [databaseMigrations, eventBusMigrations, applicationCatalogMigrations];
const seal = new SettingsSeal(new Secret('a key for the tests of settings'), systemRandomness);

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let bus: PostgresEventBus;
beforeAll(async () => {
  server = await createTestDatabase(schema);
  database = await server.connect();
});
afterAll(() => server.drop());
beforeEach(async () => {
  bus = new PostgresEventBus({ database, retentionMs: 60_000, ...quietIo, observe: () => undefined });
  await bus.start(new AbortController().signal);
});
afterEach(async () => {
  await bus.stop();
  await database.query('truncate drover.applications, drover.application_payloads cascade');
});

const openCatalog = (settingsSeal = seal): PostgresApplicationCatalog =>
  new PostgresApplicationCatalog({ database, bus, seal: settingsSeal, maxVersions: 3 });

applicationCatalogContract('PostgreSQL', async () => {
  const events: PublishedEvent[] = [];
  await bus.subscribe({ topics: [applicationChanged], from: 'now', handle: (event) => void events.push(event) });
  return { catalog: openCatalog(), events, close: () => Promise.resolve() };
});

describe('PostgresApplicationCatalog', () => {
  const hello = { tenantId: acmeTenant, applicationId: 'hello' };
  const settings = { STORAGE: 'AccountKey=hunter2-of-the-storage' };

  it('stores settings encrypted, and lists applications with the wrong key', async () => {
    await openCatalog().deploy(sampleDeployment(1, { settings }));
    const [row] = await database.query<{ settings: Buffer }>('select settings from drover.application_versions');
    expect(row?.settings.includes('hunter2')).toBe(false);
    const [dump] = await database.query<{ text: string }>(
      `select (select json_agg(v)::text from drover.application_versions v) || (select json_agg(a)::text from drover.applications a) as text`,
    );
    expect(dump?.text).not.toContain('hunter2');
    for (const wrong of [undefined, new Secret('another key than the one it was sealed with')]) {
      const [listed] = await openCatalog(new SettingsSeal(wrong, systemRandomness)).list();
      expect(listed?.versions[0]?.settingNames).toEqual(['STORAGE']);
      expect(() => listed?.versions[0]?.revealSettings()).toThrow(/cannot be decrypted/);
    }
  });

  it('does not open settings that were copied to another version', async () => {
    await openCatalog().deploy(sampleDeployment(1, { settings }));
    await openCatalog().deploy(sampleDeployment(2, { settings: { OTHER: 'x' } }));
    await database.query(
      `update drover.application_versions set settings = (select settings from drover.application_versions where code_version = $1)`,
      [codeVersionAt(1)],
    );
    const found = await openCatalog().find(hello);
    expect(found?.versions[0]?.revealSettings()).toEqual(settings);
    expect(() => found?.versions[1]?.revealSettings()).toThrow(/belongs to another version/);
  });

  it('refuses settings without a key, and deploys nothing', async () => {
    const catalog = openCatalog(new SettingsSeal(undefined, systemRandomness));
    await expect(catalog.deploy(sampleDeployment(1, { settings }))).rejects.toMatchObject({
      code: 'APPLICATION_SETTINGS_NEED_KEY',
      message: expect.stringContaining('DROVER_SECRETS_KEY'),
    });
    expect(await catalog.find(hello)).toBeUndefined();
  });

  it('keeps the last hundred changes', async () => {
    const catalog = openCatalog();
    await catalog.deploy(sampleDeployment(1));
    await catalog.deploy(sampleDeployment(2));
    for (let turn = 0; turn < 102; turn += 1)
      await catalog.setTraffic(hello, { [codeVersionAt(1 + (turn % 2))]: 100 }, `turn ${turn}`);
    const changes = await catalog.changes(hello);
    expect(changes).toHaveLength(100);
    expect(changes[0]?.reason).toBe('turn 101');
  });

  it('is mirrored: what changes before, while and after the mirror starts arrives', async () => {
    const catalog = openCatalog();
    await catalog.deploy(sampleDeployment(1));
    const mirror = new CatalogMirror(catalog, bus);
    const heard: (string | undefined)[] = [];
    mirror.onChange((key, application) => void heard.push(`${key} ${application?.generation ?? 'removed'}`));
    await Promise.all([mirror.start(), catalog.deploy(sampleDeployment(2))]);
    await eventually(() => expect(mirror.get('acme/hello')?.traffic).toEqual({ [codeVersionAt(2)]: 100 }));
    await catalog.beginRemoval(hello);
    await eventually(() => expect(mirror.get('acme/hello')?.isDeleting).toBe(true));
    await catalog.completeRemoval(hello);
    await eventually(() => expect(mirror.all()).toEqual([]));
    expect(heard.at(-1)).toBe('acme/hello removed');
    expect(heard).toEqual([...new Set(heard)]);
    await mirror.stop();
  });
});
