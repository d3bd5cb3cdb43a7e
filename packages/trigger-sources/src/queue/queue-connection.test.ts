import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { queueConnection } from './queue-connection.js';

const key = 'c2VjcmV0LWtleQ==';
const text = `DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=${key};EndpointSuffix=core.windows.net`;
const find = (settings: Record<string, string | undefined>, connection?: string) =>
  queueConnection({ functionName: 'process-order', connection, settings });
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

  it('may have an endpoint of its own, or a signature in place of a key', () => {
    const own = `AccountName=a;AccountKey=${key};QueueEndpoint=http://127.0.0.1:1234/a/`;
    expect(find({ Shop: own }, 'Shop')).toMatchObject({ kind: 'shared-key', endpoint: 'http://127.0.0.1:1234/a' });
    for (const signature of ['sv=1&sig=abc', '?sv=1&sig=abc']) {
      const signed = `QueueEndpoint=https://shop.queue.core.windows.net/;SharedAccessSignature=${signature}`;
      const found = find({ Shop: signed }, 'Shop');
      expect(found.endpoint).toBe('https://shop.queue.core.windows.net');
      expect(found.kind === 'uri' && found.uri.reveal()).toBe('https://shop.queue.core.windows.net?sv=1&sig=abc');
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
    const request = { functionName: 'process-order', connection: 'Shop', credential };
    expect(queueConnection({ ...request, settings })).toMatchObject({ kind: 'uri', credential });
    expect(queueConnection({ ...request, settings: { Shop__accountName: 'shop' } }).endpoint).toBe(
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
