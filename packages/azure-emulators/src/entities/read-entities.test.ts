import { describe, expect, it } from 'vitest';
import { EntitiesInvalidError } from './entities.js';
import { readEntities } from './read-entities.js';

const read = (value: unknown) => readEntities(JSON.stringify(value), 'entities.json');

function problemsOf(text: string): readonly string[] {
  try {
    readEntities(text, 'entities.json');
  } catch (error) {
    if (error instanceof EntitiesInvalidError) return error.problems;
    throw error;
  }
  return [];
}

describe('readEntities', () => {
  it('reads our own file, in which a name alone is enough', () => {
    const entities = read({
      queues: ['orders', { name: 'sessions', requiresSession: true, lockDuration: '00:00:30', maxDeliveryCount: 3 }],
      topics: [
        {
          name: 'events',
          subscriptions: [
            'all',
            { name: 'big', rules: [{ name: 'big', sqlFilter: { sqlExpression: 'amount > 10' } }] },
          ],
        },
      ],
      eventHubs: ['telemetry', { name: 'clicks', partitionCount: 8, consumerGroups: ['audit'] }],
      storageQueues: ['jobs'],
    });
    expect(entities).toEqual({
      queues: [
        { name: 'orders' },
        { name: 'sessions', requiresSession: true, lockDurationMs: 30_000, maxDeliveryCount: 3 },
      ],
      topics: [
        {
          name: 'events',
          subscriptions: [
            { name: 'all', rules: [] },
            { name: 'big', rules: [{ name: 'big', filter: { kind: 'sql', expression: 'amount > 10' } }] },
          ],
        },
      ],
      eventHubs: [
        { name: 'telemetry', consumerGroups: [] },
        { name: 'clicks', partitionCount: 8, consumerGroups: ['audit'] },
      ],
      storageQueues: ['jobs'],
    });
  });

  it('reads comments, trailing commas, and the delivery count of NServiceBus', () => {
    const text = `{
      // one queue
      "UserConfig": { "Namespaces": [{ "Name": "ns", /* all */ "Queues": [
        { "Name": "orders", "Properties": { "MaxDeliveryCount": 2147483647, } }, // no more
      ] }], "Logging": { "Type": "File" } }
    }`;
    expect(readEntities(text, 'Config.json').queues).toEqual([{ name: 'orders', maxDeliveryCount: 2_147_483_647 }]);
  });

  it("reads Config.json of Microsoft's Service Bus emulator", () => {
    const entities = read({
      UserConfig: {
        Namespaces: [
          {
            Name: 'sbemulatorns',
            Queues: [
              {
                Name: 'queue.1',
                Properties: {
                  DeadLetteringOnMessageExpiration: false,
                  DefaultMessageTimeToLive: 'PT1H',
                  DuplicateDetectionHistoryTimeWindow: 'PT20S',
                  ForwardDeadLetteredMessagesTo: '',
                  ForwardTo: '',
                  LockDuration: 'PT1M',
                  MaxDeliveryCount: 3,
                  RequiresDuplicateDetection: false,
                  RequiresSession: false,
                },
              },
            ],
            Topics: [
              {
                Name: 'topic.1',
                Properties: { DefaultMessageTimeToLive: 'PT1H' },
                Subscriptions: [
                  {
                    Name: 'subscription.1',
                    Properties: { LockDuration: 'PT1M', MaxDeliveryCount: 3, RequiresSession: false },
                    Rules: [
                      {
                        Name: 'by-subject',
                        Properties: {
                          FilterType: 'Correlation',
                          CorrelationFilter: { Label: 'paid', Properties: { region: 'eu' } },
                        },
                      },
                    ],
                  },
                ],
              },
            ],
          },
        ],
        Logging: { Type: 'File' },
      },
    });
    expect(entities.queues).toEqual([
      {
        name: 'queue.1',
        deadLetteringOnMessageExpiration: false,
        defaultMessageTimeToLiveMs: 3_600_000,
        duplicateDetectionHistoryTimeWindowMs: 20_000,
        lockDurationMs: 60_000,
        maxDeliveryCount: 3,
        requiresDuplicateDetection: false,
        requiresSession: false,
      },
    ]);
    expect(entities.topics[0]?.subscriptions[0]?.rules).toEqual([
      { name: 'by-subject', filter: { kind: 'correlation', fields: { label: 'paid', properties: { region: 'eu' } } } },
    ]);
  });

  it("reads Config.json of Microsoft's Event Hubs emulator", () => {
    const { eventHubs } = read({
      UserConfig: {
        NamespaceConfig: [
          {
            Type: 'EventHub',
            Name: 'emulatorNs1',
            Entities: [{ Name: 'eh1', PartitionCount: '2', ConsumerGroups: [{ Name: 'cg1' }] }],
          },
        ],
        LoggingConfig: { Type: 'File' },
      },
    });
    expect(eventHubs).toEqual([{ name: 'eh1', partitionCount: 2, consumerGroups: ['cg1'] }]);
  });

  it('reports every problem at once, each with its place and value', () => {
    const text = JSON.stringify({
      queues: [{ name: 'a b' }, { name: 'orders', lockDuration: 'soon', maxDeliverCount: 3 }, 7],
      eventHubs: [{ name: 'Orders', partitionCount: 0 }],
      storageQueues: ['Not_A_Queue'],
      hubs: [],
    });
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^queues\[2\] must be an object, not 7$/),
      expect.stringMatching(/^queues\[0\]\.name must be up to 260 letters.*, not "a b"$/),
      'queues[1].lockDuration must be a duration such as "PT1M" or "00:01:00", at least 1 s, not "soon"',
      'queues[1].maxDeliverCount is not a known option',
      expect.stringMatching(/^queues\[2\] needs a name/),
      'eventHubs[0].partitionCount must be a whole number from 1 to 1024, not 0',
      expect.stringContaining('"Not_A_Queue" is not the name of a storage queue'),
      'hubs is not a known option',
      '"orders" is used twice. Queues, topics and event hubs share one port and need different names',
    ]);
  });

  it.each([
    ['{ "queues": [', 'it is not JSON'],
    ['[]', 'must be an object'],
    ['{ "topics": [{ "name": "t", "subscriptions": ["s", "S"] }] }', 'the topic "t" has the subscription "s" twice'],
    ['{ "topics": [{ "name": "t", "subscriptions": [{ "name": "s", "rules": ["r"] }] }] }', 'needs a filter'],
    ['{ "queues": "orders" }', 'queues must be a list, not "orders"'],
  ])('refuses %s', (text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem);
  });
});
