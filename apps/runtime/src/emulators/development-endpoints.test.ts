import { describe, expect, it } from 'vitest';
import { developmentEndpoints } from './development-endpoints.js';

const key = 'AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const bus = 'SharedAccessKeyName=a;SharedAccessKey=b';

describe('developmentEndpoints', () => {
  it.each([
    ['UseDevelopmentStorage=true', ['blob:10000', 'queue:10001', 'table:10002']],
    [' usedevelopmentstorage = TRUE ;', ['blob:10000', 'queue:10001', 'table:10002']],
    [
      `AccountName=devstoreaccount1;${key};QueueEndpoint=http://127.0.0.1:7001/devstoreaccount1;TableEndpoint=http://localhost:7002/devstoreaccount1`,
      ['queue:7001', 'table:7002'],
    ],
    [`Endpoint=sb://localhost;${bus};UseDevelopmentEmulator=true;`, ['amqp:5672']],
    [`Endpoint=sb://127.0.0.1:7003/;${bus};UseDevelopmentEmulator=true;EntityPath=hub`, ['amqp:7003']],
    [`Endpoint=sb://localhost:80;${bus};UseDevelopmentEmulator=true`, ['amqp:80']],
  ])('%s asks for emulators on this machine', (text, expected) => {
    expect(developmentEndpoints(text).map(({ service, port }) => `${service}:${port}`)).toEqual(expected);
  });

  it.each([
    'UseDevelopmentStorage=false',
    'UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://proxy.example',
    `AccountName=devstoreaccount1;${key};QueueEndpoint=http://azurite:10001/devstoreaccount1`,
    `AccountName=devstoreaccount1;${key};QueueEndpoint=https://127.0.0.1:10001/devstoreaccount1`,
    `AccountName=shop;${key};QueueEndpoint=http://127.0.0.1:10001/shop`,
    `Endpoint=sb://bus.servicebus.windows.net;${bus}`,
    `Endpoint=sb://emulator:5672;${bus};UseDevelopmentEmulator=true`,
    `Endpoint=sb://localhost;${bus}`,
    'Development',
    '',
  ])('%s asks for none', (text) => {
    expect(developmentEndpoints(text)).toEqual([]);
  });
});
