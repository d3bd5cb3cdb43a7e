import { describe, expect, it } from 'vitest';
import { Settings } from '../applications/settings.js';
import { definitionOf } from '../bindings/definition.test.fixture.js';
import { demandOf, demandOfSettings, mergeDemands } from './emulator-demand.js';

const settings = new Settings({
  AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  Bus: 'Endpoint=sb://localhost;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;',
  AzureWebJobsHubs: 'Endpoint=sb://localhost:7003;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;',
  Shop__queueServiceUri: 'http://127.0.0.1:7001/devstoreaccount1',
  Cloud: 'DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=a;EndpointSuffix=core.windows.net',
});

type Bindings = readonly object[];
const trigger = (type: string, options: object = {}): object => ({ name: 'in', type, direction: 'in', ...options });
const demanded = (...bindings: Bindings): string[] =>
  demandOf(definitionOf('work', ...bindings), settings, { hasDatabase: false }).map(
    ({ service, port }) => `${service}:${port}`,
  );

describe('demandOf', () => {
  it.each<[Bindings, string[]]>([
    [[trigger('httpTrigger')], []],
    [[trigger('queueTrigger', { queueName: 'a' })], ['queue:10001']],
    [[trigger('QUEUETRIGGER', { queueName: 'a', connection: 'Shop' })], ['queue:7001']],
    [[trigger('queueTrigger', { queueName: 'a', connection: 'Cloud' })], []],
    [[trigger('queueTrigger', { queueName: 'a', connection: 'Missing' })], []],
    [[trigger('blobTrigger', { path: 'a/{b}' })], ['blob:10000', 'queue:10001']],
    [[trigger('timerTrigger')], ['blob:10000']],
    [[trigger('serviceBusTrigger', { queueName: 'a', connection: 'Bus' })], ['amqp:5672']],
    [[trigger('eventHubTrigger', { eventHubName: 'a', connection: 'Hubs' })], ['amqp:7003', 'blob:10000']],
    [
      [
        trigger('httpTrigger'),
        { name: 'row', type: 'table', direction: 'in' },
        { name: 'out', type: 'queue', direction: 'out', queueName: 'a' },
      ],
      ['table:10002', 'queue:10001'],
    ],
  ])('%j', (bindings, expected) => {
    expect(demanded(...bindings)).toEqual(expected);
  });

  it('needs no blobs for the state of triggers if there is a database', () => {
    const demand = demandOf(definitionOf('work', trigger('timerTrigger')), settings, { hasDatabase: true });
    expect(demand).toEqual([]);
  });

  it('names the entities of triggers and outputs, with sessions where a trigger has them', () => {
    const all = mergeDemands(
      [
        definitionOf('send', trigger('httpTrigger'), {
          name: 'out',
          type: 'serviceBus',
          direction: 'out',
          queueName: 'Chats',
          connection: 'Bus',
        }),
        definitionOf(
          'chat',
          trigger('serviceBusTrigger', {
            queueName: 'chats/$DeadLetterQueue',
            connection: 'Bus',
            isSessionsEnabled: true,
          }),
        ),
        definitionOf(
          'read',
          trigger('serviceBusTrigger', { topicName: 'news', subscriptionName: 'all', connection: 'Bus' }),
        ),
        definitionOf(
          'count',
          trigger('eventHubTrigger', { eventHubName: 'hub', consumerGroup: 'audit', connection: 'Bus' }),
        ),
        definitionOf('any', trigger('httpTrigger'), {
          name: 'out',
          type: 'serviceBus',
          direction: 'out',
          queueName: '{region}',
          connection: 'Bus',
        }),
      ].flatMap((definition) => demandOf(definition, settings, { hasDatabase: false })),
    );
    expect(all.find(({ service }) => service === 'amqp')?.entities).toEqual({
      queues: [{ name: 'Chats', requiresSession: true }],
      topics: [{ name: 'news', subscriptions: [{ name: 'all', requiresSession: false }] }],
      eventHubs: [{ name: 'hub', consumerGroups: ['audit'] }],
    });
  });
});

describe('demandOfSettings', () => {
  it('finds every connection string for development, except those that the application did not set', () => {
    const keys = (except: string[]): string[] =>
      demandOfSettings(settings, except).map(({ service, port }) => `${service}:${port}`);
    expect(keys([])).toEqual(['blob:10000', 'queue:10001', 'table:10002', 'amqp:5672', 'amqp:7003']);
    expect(keys(['AzureWebJobsStorage'])).toEqual(['amqp:5672', 'amqp:7003']);
  });
});
