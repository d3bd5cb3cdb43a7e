import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { hasStorageConnection, storageConnection, type StorageService } from './storage-connection.js';

const key = 'c2VjcmV0LWtleQ==';
const text = `DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=${key};EndpointSuffix=core.windows.net`;
const find = (settings: Record<string, string | undefined>, connection?: string, service: StorageService = 'queue') =>
  storageConnection({ service, functionName: 'process-order', connection, settings });
const problemOf = (settings: Record<string, string | undefined>, connection?: string): Error => {
  try {
    find(settings, connection);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('it was accepted');
};

describe('the connection of a binding', () => {
  it('is the setting that it names, with or without the usual prefix', () => {
    expect(find({ Shop: text }, 'Shop').endpoint).toBe('https://shop.queue.core.windows.net');
    expect(find({ AzureWebJobsShop: text }, 'Shop').endpoint).toBe('https://shop.queue.core.windows.net');
    expect(find({ SHOP: text }, 'shop').endpoint).toBe('https://shop.queue.core.windows.net');
  });

  it('is AzureWebJobsStorage when it names none', () => {
    expect(find({ AzureWebJobsStorage: text }).endpoint).toBe('https://shop.queue.core.windows.net');
    expect(find({ AzureWebJobsStorage: text }, ' ').endpoint).toBe('https://shop.queue.core.windows.net');
  });

  it('may be the emulator of this machine', () => {
    const connection = find({ AzureWebJobsStorage: 'UseDevelopmentStorage=true' });
    expect(connection).toMatchObject({
      kind: 'shared-key',
      endpoint: 'http://127.0.0.1:10001/devstoreaccount1',
      account: 'devstoreaccount1',
    });
  });

  it.each([
    ['blob', 'http://127.0.0.1:10000/devstoreaccount1'],
    ['table', 'http://127.0.0.1:10002/devstoreaccount1'],
  ] as const)('has the port of its service at the emulator: %s', (service, endpoint) => {
    expect(find({ AzureWebJobsStorage: 'UseDevelopmentStorage=true' }, undefined, service).endpoint).toBe(endpoint);
    const elsewhere = 'UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://storage/';
    expect(find({ AzureWebJobsStorage: elsewhere }, undefined, service).endpoint).toBe(
      endpoint.replace('127.0.0.1', 'storage'),
    );
  });

  it.each(['blob', 'table'] as const)('has an address for each service: %s', (service) => {
    expect(find({ Shop: text }, 'Shop', service).endpoint).toBe(`https://shop.${service}.core.windows.net`);
    const [name, uri] = [`Shop__${service}ServiceUri`, 'https://elsewhere.example/x?sig=1'];
    const other = 'https://queues.example?sig=1';
    expect(find({ Shop__queueServiceUri: other, [name]: uri }, 'Shop', service)).toMatchObject({
      endpoint: 'https://elsewhere.example/x',
      setting: name,
    });
    const both = `${text};BlobEndpoint=http://blobs/a;TableEndpoint=http://tables/a;QueueEndpoint=http://queues/a`;
    expect(find({ Shop: both }, 'Shop', service).endpoint).toBe(`http://${service}s/a`);
  });

  it('names the setting that it was found in', () => {
    expect(find({ AzureWebJobsShop: text }, 'Shop').setting).toBe('AzureWebJobsShop');
    expect(find({ Shop__accountName: 'shop', Shop: text }, 'Shop').setting).toBe('Shop');
  });

  it('is known to exist before it is resolved', () => {
    expect(hasStorageConnection({ AzureWebJobsStorage: ' ' }, 'AzureWebJobsStorage')).toBe(false);
    expect(hasStorageConnection({ azurewebjobsstorage: text }, 'AzureWebJobsStorage')).toBe(true);
    expect(hasStorageConnection({ 'AzureWebJobsShop:blobServiceUri': 'x' }, 'Shop')).toBe(true);
    expect(hasStorageConnection({ Shopping: text }, 'Shop')).toBe(false);
    expect(hasStorageConnection({ Shop__blobServiceUri: 'x' }, 'Shop', 'queue')).toBe(false);
    expect(hasStorageConnection({ shop__QUEUEServiceUri: 'x' }, 'Shop', 'queue')).toBe(true);
    expect(hasStorageConnection({ AzureWebJobsShop: text }, 'Shop', 'queue')).toBe(true);
  });

  it('may have a signature and the name of the account only', () => {
    const signed = 'AccountName=shop;SharedAccessSignature=sv=1&sig=abc';
    expect(find({ Shop: signed }, 'Shop')).toMatchObject({
      kind: 'uri',
      endpoint: 'https://shop.queue.core.windows.net',
    });
  });

  it('may have an endpoint of its own, or a signature in place of a key', () => {
    const own = `AccountName=a;AccountKey=${key};QueueEndpoint=http://127.0.0.1:1234/a/`;
    expect(find({ Shop: own }, 'Shop')).toMatchObject({ kind: 'shared-key', endpoint: 'http://127.0.0.1:1234/a' });
    for (const signature of ['sv=1&sig=abc', '?sv=1&sig=abc']) {
      const signed = `QueueEndpoint=https://shop.queue.core.windows.net/;SharedAccessSignature=${signature}`;
      const found = find({ Shop: signed }, 'Shop');
      expect(found.endpoint).toBe('https://shop.queue.core.windows.net');
      expect(found.kind === 'uri' && found.query.reveal()).toBe('sv=1&sig=abc');
    }
  });

  it('may be the URI of a section, with a signature', () => {
    const uri = 'https://shop.queue.core.windows.net/?sv=2024&sig=abc';
    for (const name of [
      'Shop__queueServiceUri',
      'Shop:queueServiceUri',
      'shop__SERVICEURI',
      'AzureWebJobsShop__queueServiceUri',
    ])
      expect(find({ [name]: uri }, 'Shop')).toMatchObject({
        kind: 'uri',
        endpoint: 'https://shop.queue.core.windows.net',
        credential: undefined,
      });
  });

  it('needs a credential where it names an account only', () => {
    const settings = { Shop__queueServiceUri: 'https://shop.queue.core.windows.net' };
    const error = problemOf(settings, 'Shop');
    expect(hasCode(error, 'TRIGGER_CREDENTIALS_MISSING')).toBe(true);
    expect(error.message).toContain('Function process-order: Shop__queueServiceUri names an account without a key');
    const credential = { getToken: () => Promise.resolve(null) };
    const request = { service: 'queue', functionName: 'process-order', connection: 'Shop', credential } as const;
    expect(storageConnection({ ...request, settings })).toMatchObject({ kind: 'uri', credential });
    expect(storageConnection({ ...request, settings: { Shop__accountName: 'shop' } }).endpoint).toBe(
      'https://shop.queue.core.windows.net',
    );
  });

  it.each([
    [{}, 'Shop', 'setting Shop does not exist'],
    [{ Shop: '' }, 'Shop', 'setting Shop does not exist'],
    [{ Shop: 'rubbish' }, 'Shop', 'Shop is not a storage connection string'],
    [{ Shop: 'AccountName=a' }, 'Shop', 'It needs AccountName and AccountKey'],
    [{ Shop: `AccountName=a;AccountKey=${key};QueueEndpoint=nowhere` }, 'Shop', 'QueueEndpoint that is not a URL'],
    [{ Shop__queueServiceUri: 'ftp://x' }, 'Shop', 'Shop__queueServiceUri is not the URL of a queue service'],
    [{}, undefined, 'setting AzureWebJobsStorage does not exist'],
    [
      { Shop__blobServiceUri: 'https://x?sig=1' },
      'Shop',
      'Shop has no address of the queue service. Set Shop__queueServiceUri',
    ],
  ])('is refused: %j', (settings, connection, problem) => {
    const error = problemOf(settings, connection);
    expect(error.message).toContain('Function process-order');
    expect(error.message).toContain(problem);
  });

  it('never shows its key', () => {
    expect(JSON.stringify(find({ Shop: text }, 'Shop'))).not.toContain(key);
    expect(problemOf({ Shop: `AccountName=;AccountKey=${key}` }, 'Shop').message).not.toContain(key);
  });
});
