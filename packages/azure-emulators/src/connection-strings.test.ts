import { expect, it } from 'vitest';
import { connectionStrings } from './connection-strings.js';

it('is UseDevelopmentStorage=true on the ports that SDKs expect, and names the ports otherwise', () => {
  const usual = connectionStrings('127.0.0.1', { amqp: 5672, blob: 10_000, queue: 10_001, table: 10_002 });
  expect(usual.storage).toBe('UseDevelopmentStorage=true');
  expect(usual.serviceBus).toMatch(/^Endpoint=sb:\/\/localhost;.*UseDevelopmentEmulator=true;$/);
  expect(usual.eventHubs).toBe(usual.serviceBus);

  const other = connectionStrings('127.0.0.1', { amqp: 7000, queue: 7001 });
  expect(other.serviceBus).toContain('Endpoint=sb://localhost:7000;');
  expect(other.storage).toContain('QueueEndpoint=http://127.0.0.1:7001/devstoreaccount1;');
  expect(other.storage).not.toContain('BlobEndpoint');
  expect(connectionStrings('127.0.0.1', {})).toEqual({
    serviceBus: undefined,
    eventHubs: undefined,
    storage: undefined,
  });
});
