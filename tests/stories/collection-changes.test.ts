import { readFile } from 'node:fs/promises';
import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { startPlatform } from '../support/platform.js';
import { SteadyClients, type RecordsCall } from '../support/steady-clients.js';
import { sharedPlatform } from '../support/shared-platform.js';

describe('a change of a definition (UC-5)', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const { up, ready } = await startPlatform(directory);
    started(up);
    const { apiKey } = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as { apiKey: string };
    const call: RecordsCall = async (method, path, body) => {
      const response = await fetch(new URL(path, ready.urls.public), {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: 'application/vnd.api+json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    };
    return { call };
  });

  const number: FieldDefinition = { name: 'number', type: 'STRING', unique: true };
  const quantity: FieldDefinition = { name: 'quantity', type: 'INTEGER', indexed: true };
  const note: FieldDefinition = { name: 'note', type: 'STRING' };
  const region: FieldDefinition = { name: 'region', type: 'STRING', required: true, default: 'north', indexed: true };
  const versions: readonly Omit<CollectionDefinition, 'name'>[] = [
    { fields: [number, quantity, note, region] },
    { fields: [number, quantity, { ...note, name: 'remark', formerName: 'note', searchable: true }, region] },
    { fields: [number, { ...quantity, type: 'DOUBLE' }, region], uniqueSets: [['number', 'region']] },
  ];

  it('fails no request of 200 per second in both storage modes, and keeps every value', async () => {
    const { call } = platform();
    const modes: readonly StorageMode[] = ['PHYSICAL_TABLE', 'JSONB'];
    const nameOf = (storageMode: StorageMode): string => `orders-${storageMode.toLowerCase()}`;
    for (const storageMode of modes) {
      const definition = { name: nameOf(storageMode), storageMode, fields: [number, quantity, note] };
      expect((await call('POST', '/control/collections', definition)).status).toBe(201);
      const records = Array.from({ length: 500 }, (_, index) => ({ quantity: -1, note: `${index}` }));
      expect((await call('POST', `/api/${definition.name}`, records)).status).toBe(201);
    }
    const clients = new SteadyClients(call, modes.map(nameOf));
    for (const fields of versions) {
      for (const storageMode of modes) {
        const name = nameOf(storageMode);
        const changed = await call('PUT', `/control/collections/${name}`, { name, storageMode, ...fields });
        expect(changed.status).toBe(200);
      }
    }
    const due = await clients.complete();
    expect(clients.failures).toEqual([]);
    expect(clients.answered).toBe(due);
    for (const [path, acknowledged] of clients.acknowledged) {
      const { attributes } = (await call('GET', path)).body.data;
      expect([path, attributes.quantity, attributes.region]).toEqual([path, acknowledged, 'north']);
    }
    for (const storageMode of modes) {
      const seeded = await call(
        'GET',
        `/api/${nameOf(storageMode)}?filter[quantity][eq]=-1&filter[region][eq]=north&page[number]=1&page[size]=1&count=exact`,
      );
      expect(seeded.body.meta).toMatchObject({ total: 500 });
      const all = await call('GET', `/control/collections/${nameOf(storageMode)}/versions`);
      expect(all.body.versions.map(({ version }: { version: number }) => version)).toEqual([4, 3, 2, 1]);
    }
  });

  it('is refused with the reason and the number of records in the way', async () => {
    const { call } = platform();
    const name = 'tickets';
    await call('POST', '/control/collections', { name, fields: [{ name: 'code', type: 'STRING' }] });
    await call('POST', `/api/${name}`, [{ code: '1' }, { code: 'two' }, { code: 'two' }]);
    const refused = await call('PUT', `/control/collections/${name}`, {
      name,
      fields: [{ name: 'code', type: 'INTEGER', unique: true }],
    });
    expect(refused.status).toBe(409);
    expect(JSON.stringify(refused.body)).toContain('2 records have a value that would be lost');
    expect((await call('GET', `/control/collections/${name}`)).body.version).toBe(1);
  });
});
