import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Emulators } from '../emulators.js';
import { startEmulators } from '../start-emulators.js';
import { startEmulatorsPage, type EmulatorsPage } from './page-server.js';

describe('blobs and tables on the page', () => {
  let emulators: Emulators;
  let page: EmulatorsPage;
  beforeAll(async () => {
    emulators = await startEmulators({ ports: { blob: 0, table: 0 } });
    page = await startEmulatorsPage(() => [emulators], 0);
  });
  afterAll(async () => {
    await page.stop();
    await emulators.stop();
  });

  async function get(path: string): Promise<unknown> {
    const response = await fetch(`${page.url}api/${path}`);
    return response.json();
  }

  it('are not started for a look, until the developer asks or an application uses them', async () => {
    const waiting = [
      { kind: 'blob', isRunning: false, names: [] },
      { kind: 'table', isRunning: false, names: [] },
    ];
    expect(await get('storage')).toEqual({ storage: waiting });
    expect(emulators.storage.map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    expect(await get('storage?start=table')).toMatchObject({ storage: [{}, { kind: 'table', isRunning: true }] });
  });

  it('shows containers, blobs in pages, and the beginning of a blob', async () => {
    const container = BlobServiceClient.fromConnectionString(
      emulators.connectionStrings.storage ?? '',
    ).getContainerClient('photos');
    await container.create();
    const names = Array.from({ length: 51 }, (_, index) => `album/${String(index).padStart(2, '0')} ä&.txt`);
    for (const name of names) await container.getBlockBlobClient(name).upload('<b>hello</b>', 12);
    await container.getBlockBlobClient('large').upload('x'.repeat(10_000), 10_000);
    expect(await get('storage')).toMatchObject({ storage: [{ kind: 'blob', isRunning: true, names: ['photos'] }, {}] });
    const first = (await get('items?kind=blob&name=photos')) as { items: { name: string }[]; next: string };
    expect(first.items.map(({ name }) => name)).toEqual(names.slice(0, 50));
    expect(first.items[0]).toMatchObject({ bytes: 12, modified: expect.stringContaining('GMT') });
    const rest = await get(`items?kind=blob&name=photos&after=${encodeURIComponent(first.next)}`);
    expect(rest).toMatchObject({ items: [{ name: names[50] }, { name: 'large', bytes: 10_000 }] });
    const item = encodeURIComponent(names[3] ?? '');
    expect(await get(`content?kind=blob&name=photos&item=${item}`)).toEqual({ text: '<b>hello</b>' });
    const large = (await get('content?kind=blob&name=photos&item=large')) as { text: string };
    expect(large.text).toHaveLength(4_096);
    expect(await get('content?kind=blob&name=photos&item=none')).toMatchObject({
      error: expect.stringContaining('answered 404'),
    });
  });

  it('shows tables, and entities in pages with their properties', async () => {
    const options = { allowInsecureConnection: true };
    const table = TableClient.fromConnectionString(emulators.connectionStrings.storage ?? '', 'people', options);
    await table.createTable();
    for (let index = 0; index < 60; index += 1)
      await table.createEntity({ partitionKey: 'p', rowKey: String(index).padStart(2, '0'), age: index });
    expect(await get('storage')).toMatchObject({ storage: [{}, { kind: 'table', names: ['people'] }] });
    const first = (await get('items?kind=table&name=people')) as {
      items: { name: string; text: string }[];
      next: string;
    };
    expect(first.items).toHaveLength(50);
    expect(first.items[7]).toMatchObject({ name: 'p / 07', text: expect.stringContaining('"age":7') });
    const rest = (await get(`items?kind=table&name=people&after=${encodeURIComponent(first.next)}`)) as typeof first;
    expect(rest.items.map(({ name }) => name)).toContain('p / 59');
    expect(rest.items).toHaveLength(10);
  });
});
