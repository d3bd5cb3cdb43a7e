import { StatusResultStatus, type TypedData, type TypedDataInit } from '@drover/function-rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CompatWorker, endAll, httpData } from './worker.js';

describe.each([
  ['as the worker is shipped', {}],
  ['with the library doing everything', { DROVER_WORKER_PLAIN_LIBRARY: '1' }],
])('inputs and outputs, %s', (_, env) => {
  let worker: CompatWorker;
  beforeAll(async () => {
    worker = await CompatWorker.withApp('v4-commonjs', env);
  });
  afterAll(endAll);

  /** By the name of their binding's type, or its own name. */
  const named = (name: string): Map<string, string> =>
    new Map(worker.bindings(name).map((one) => [String(one['name']), String(one['type'])]));

  it('gives a handler all inputs besides its trigger, by binding and by name', async () => {
    const types = named('inputs');
    const values: Record<string, TypedDataInit> = {
      blob: { bytes: Buffer.from([1]) },
      table: { json: '[{"RowKey":"1"}]' },
      cosmosDB: { json: '{"id":"1"}' },
      sql: { json: '[{"Id":1}]' },
      mysql: { json: '[]' },
      webPubSubConnection: { json: '{"url":"wss://x"}' },
      webPubSubContext: { json: '{"hasError":false}' },
      dropbox: { string: 'generic' },
    };
    const inputs = [...types].flatMap(([name, type]) => {
      const data = values[type];
      return data ? [{ name, data }] : [];
    });
    expect(inputs).toHaveLength(8);
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('inputs', { data: { string: 'item' }, inputs });
      expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({
        item: 'item',
        blob: { buffer: '01' },
        table: [{ RowKey: '1' }],
        cosmosDB: { id: '1' },
        sql: [{ Id: 1 }],
        mySql: [],
        webPubSubConnection: { url: 'wss://x' },
        webPubSubContext: { hasError: false },
        generic: 'generic',
        byName: { hasError: false },
        options: ['blob', 'table', 'cosmosDB', 'sql', 'mysql', 'webPubSubConnection', 'webPubSubContext', 'dropbox'],
      });
    }
  });

  const values: readonly (readonly [key: string, type: string, value: Partial<TypedData> | undefined])[] = [
    ['blob', 'blob', { bytes: Buffer.from([0, 1, 255]) }],
    ['table', 'table', { json: '[{"PartitionKey":"p","RowKey":"1"}]' }],
    ['queue', 'queue', { json: '["a",{"b":1}]' }],
    ['busQueue', 'serviceBus', { string: 'text' }],
    ['busTopic', 'serviceBus', { bytes: Buffer.from([1, 0, 2, 0]) }],
    ['hub', 'eventHub', { int: 42 }],
    ['grid', 'eventGrid', { double: 1.5 }],
    ['cosmosDB', 'cosmosDB', { json: '{"id":"1","nested":{"at":"1970-01-01T00:00:00.000Z"}}' }],
    ['sql', 'sql', { json: 'true' }],
    ['mySql', 'mysql', { bytes: Buffer.from([9]) }],
    ['webPubSub', 'webPubSub', undefined],
    ['generic', 'sendGrid', undefined],
  ];

  it('sends every output that was set, in the encoding of its value, and none that was not', async () => {
    const types = named('outputs');
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('outputs', { data: { string: 'x' } });
      expect(response.result?.status).toBe(StatusResultStatus.Success);
      const sent = response.outputData.map(({ name, data }) => [types.get(name), plainOf(data)]);
      expect(sent).toEqual(values.flatMap(([, type, value]) => (value ? [[type, value]] : [])));
      expect(response.returnValue).toBeUndefined();
    }
  });

  it.each(values)('returns a value through the output binding: %s', async (key, type, value) => {
    const binding = worker.bindings(`return-${key}`).find(({ direction }) => direction === 'out');
    expect(binding).toMatchObject({ name: '$return', type });
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call(`return-${key}`, { data: { string: 'x' } });
      expect(plainOf(response.returnValue)).toEqual(value);
      expect(response.outputData).toEqual([]);
    }
  });

  it('answers HTTP and fills an output in one go', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('httpAndQueue', {
        data: httpData('GET', 'http://localhost/api/httpAndQueue'),
      });
      expect(response.returnValue?.http?.statusCode).toBe('201');
      expect(String(response.returnValue?.http?.body?.bytes)).toBe('{"both":true}');
      expect(response.outputData.map(({ data }) => plainOf(data))).toEqual([{ json: '[1,2]' }]);
    }
  });

  it('lets a function with an HTTP trigger return something else', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('httpReturnsQueue', { data: httpData('GET', 'http://localhost/api/x') });
      expect(plainOf(response.returnValue)).toEqual({ string: 'not HTTP at all' });
    }
  });
});

/** The one field that is set, bytes as a Buffer. */
function plainOf(data: TypedData | undefined): Partial<TypedData> | undefined {
  if (!data) return undefined;
  return data.bytes ? { bytes: Buffer.from(data.bytes) } : { ...data };
}
