import { randomUUID } from 'node:crypto';
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { storageConnection } from '../storage/storage-connection.js';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { FaultyProxy } from '../testing/faulty-proxy.js';
import { AzureTable } from './azure-table.js';
import type { TableObservation } from './observations.js';
import { readTableInput } from './table-input.js';
import { tableOptions } from './table-options.js';
import { TableOutput } from './table-output.js';

const never = new AbortController().signal;
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite('all');
});
afterAll(() => azurite.stop());

describe('tables at a real service', () => {
  let tableName: string;
  const observed: TableObservation[] = [];
  beforeEach(() => {
    tableName = `people${randomUUID().replaceAll('-', '')}`;
    observed.length = 0;
  });

  const tableAt = (connectionString: string): AzureTable => {
    const settings = { Shop: connectionString };
    return new AzureTable(
      tableName,
      storageConnection({ service: 'table', functionName: 'f', connection: 'Shop', settings }),
    );
  };
  const io = { functionName: 'f', clock: systemClock, randomness: systemRandomness };
  const write = (entities: readonly object[], binding: object = {}, table = tableAt(azurite.connectionString)) => {
    const options = tableOptions({ functionName: 'f', binding: { tableName, ...binding } }, 'output');
    const output = new TableOutput({
      ...io,
      table,
      options,
      observe: (observation) => void observed.push(observation),
    });
    return output.send(
      entities.map((entity) => ({ body: JSON.stringify(entity) })),
      never,
    );
  };
  const read = async (binding: object = {}, table = tableAt(azurite.connectionString)): Promise<unknown> => {
    const options = tableOptions({ functionName: 'f', binding: { tableName, ...binding } }, 'input');
    const value = await readTableInput({ ...io, table, options, signal: never });
    return value && 'json' in value ? JSON.parse(value.json) : value;
  };
  const direct = (): TableClient =>
    new TableClient(
      `${azurite.urls.table}/devstoreaccount1`,
      tableName,
      new AzureNamedKeyCredential(
        'devstoreaccount1',
        'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
      ),
      { allowInsecureConnection: true },
    );

  it('creates the table, adds entities of several partitions, and gives them back as they were', async () => {
    const people = [
      { PartitionKey: 'Bern', RowKey: '1', Name: "O'Neil", Age: 30, Share: 0.5, IsOpen: true, Tags: ['a'] },
      { PartitionKey: 'Basel', RowKey: '1', Name: 'Ann' },
      { PartitionKey: 'Bern', RowKey: '2', Name: 'Ben' },
    ];
    await write(people);
    expect(observed).toEqual([
      { kind: 'table.created', functionName: 'f', table: tableName },
      { kind: 'table.written', functionName: 'f', table: tableName, entities: 3 },
    ]);
    expect(await read({ partitionKey: 'Bern', rowKey: '1' })).toEqual({ ...people[0], Tags: '[\n  "a"\n]' });
    expect(await read({ partitionKey: 'Bern', filter: "Name eq 'Ben' or Age gt 5L" })).toHaveLength(2);
    expect(await read({ partitionKey: 'Bern', filter: "Name eq 'Ann' or Name eq 'Ben'" })).toEqual([people[2]]);
    expect(await read({ take: 2 })).toHaveLength(2);
    expect(await read()).toHaveLength(3);
  });

  it('stores the types of the official extension, and reads those of others', async () => {
    await write([{ PartitionKey: 'p', RowKey: 'r', Whole: 5, Half: 0.5, Text: '2030-01-01T00:00:00Z' }]);
    const stored = await direct().getEntity('p', 'r', { disableTypeConversion: true });
    expect(stored).toMatchObject({
      Whole: { type: 'Int64', value: '5' },
      Half: { type: 'Double', value: '0.5' },
      Text: { type: 'String' },
    });
    await direct().createEntity({
      partitionKey: 'p',
      rowKey: 'other',
      At: new Date('2030-01-01T00:00:00.120Z'),
      Big: 9_007_199_254_740_993n,
      Raw: new Uint8Array([0, 1]),
      Id: { type: 'Guid', value: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' },
      Int: { type: 'Int32', value: 7 },
    });
    const value = await tableAt(azurite.connectionString).get('p', 'other', never);
    expect(value).toContain('"Big":9007199254740993');
    expect(JSON.parse(value)).toMatchObject({
      PartitionKey: 'p',
      RowKey: 'other',
      At: '2030-01-01T00:00:00.12+00:00',
      Raw: 'AAE=',
      Id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
      Int: 7,
    });
    expect(Object.keys(JSON.parse(value) as object)).not.toContain('Timestamp');
  });

  it('takes keys from the binding, and writes more than one transaction holds', async () => {
    await write(
      Array.from({ length: 120 }, (_, n) => ({ RowKey: String(n), n })),
      { partitionKey: 'bound' },
    );
    expect(await read({ partitionKey: 'bound' })).toHaveLength(120);
  });

  it('adds without an ETag, replaces any version with "*", and that version with its ETag', async () => {
    const entity = { PartitionKey: 'p', RowKey: 'r', Name: 'one', Old: 1 };
    await write([entity]);
    await expect(write([entity])).rejects.toMatchObject({
      code: 'TABLE_ENTITY_CONFLICT',
      message: expect.stringContaining(
        'entity p/r exists already. An output adds entities; to replace one, set its ETag to "*"',
      ),
    });
    const { etag } = await direct().getEntity('p', 'r');
    await write([{ PartitionKey: 'p', RowKey: 'r', ETag: '*', Name: 'two' }]);
    expect(await read({ partitionKey: 'p', rowKey: 'r' })).toEqual({ PartitionKey: 'p', RowKey: 'r', Name: 'two' });
    await expect(write([{ ...entity, ETag: etag }])).rejects.toMatchObject({
      code: 'TABLE_ENTITY_CONFLICT',
      message: expect.stringContaining('is not the version that its ETag names'),
    });
    const { etag: current } = await direct().getEntity('p', 'r');
    await write([{ ...entity, ETag: current, Name: 'three' }]);
    expect(await read({ partitionKey: 'p', rowKey: 'r' })).toMatchObject({ Name: 'three' });
  });

  it('has no entity and an empty list where nothing is', async () => {
    expect(await read({ partitionKey: 'p', rowKey: 'r' })).toBeUndefined();
    expect(await read()).toEqual([]);
    await write([{ PartitionKey: 'p', RowKey: 'r' }]);
    expect(await read({ partitionKey: 'p', rowKey: 'none' })).toBeUndefined();
    expect(await read({ filter: "Name eq 'none'" })).toEqual([]);
  });

  it('names the setting with a wrong key, and shows no key', async () => {
    const key = Buffer.from('another key').toString('base64');
    const wrong = tableAt(azuriteConnectionString(azurite.urls, key));
    for (const attempt of [() => write([{ PartitionKey: 'p', RowKey: 'r' }], {}, wrong), () => read({}, wrong)]) {
      const error: unknown = await attempt().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({
        code: 'TABLE_UNAVAILABLE',
        message: expect.stringContaining('access is denied; check the key or signature in the setting Shop'),
      });
      expect(String(error)).not.toContain(key);
    }
  });

  it('refuses a filter that the service does not understand, without a retry', async () => {
    await write([{ PartitionKey: 'p', RowKey: 'r' }]);
    await expect(read({ filter: 'not a filter (' })).rejects.toMatchObject({ code: 'TRIGGER_OPTIONS_INVALID' });
  });

  it('writes once although a response is lost, and says so if another writer was faster', async () => {
    const proxy = new FaultyProxy(azurite.urls.table ?? '');
    const through = tableAt(azuriteConnectionString({ table: await proxy.start() }));
    await write([{ PartitionKey: 'p', RowKey: '0' }]);
    let isLost = false;
    proxy.fault = (request) => {
      if (isLost || !request.includes('$batch')) return 'pass';
      isLost = true;
      return 'lose';
    };
    await write([{ PartitionKey: 'p', RowKey: '1', Name: 'once', Age: 3, Share: 0.5, IsOpen: false }], {}, through);
    expect(await read({ partitionKey: 'p', rowKey: '1' })).toMatchObject({ Name: 'once' });
    // Nothing reaches the service at first, and meanwhile another writer adds an entity with these keys.
    let isRefused = false;
    proxy.fault = (request) => {
      if (isRefused || !request.includes('$batch')) return 'pass';
      isRefused = true;
      return 'refuse';
    };
    await write([{ PartitionKey: 'p', RowKey: '2', Name: 'faster' }]);
    await expect(write([{ PartitionKey: 'p', RowKey: '2', Name: 'slower' }], {}, through)).rejects.toMatchObject({
      code: 'TABLE_ENTITY_CONFLICT',
    });
    await proxy.stop();
  });
});
