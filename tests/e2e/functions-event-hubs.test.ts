import { readFileSync } from 'node:fs';
import path from 'node:path';
import { EventHubProducerClient } from '@azure/event-hubs';
import { startEmulators } from '@drover/azure-emulators';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { app, withRuntime } from '../support/functions.js';

type Line = Readonly<Record<string, unknown>>;

describe('functions on event hubs', () => {
  it('get events one by one and in batches, retry and pass over what fails, and send on', () =>
    withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'ledger');
      const emulators = await startEmulators({ ports: { amqp: 0 } });
      const connection = emulators.connectionStrings.eventHubs ?? '';
      const env = { EventHubs: connection, LEDGER_FILE: file, DROVER_EMULATORS: 'off' };
      const linesOf = (name: string): Line[] =>
        readFileSync(file, { encoding: 'utf8', flag: 'a+' })
          .split('\n')
          .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
          .filter((line) => line['function'] === name);
      try {
        await withRuntime({ apps: [app('event-hubs')], env }, async (runtime) => {
          const producer = new EventHubProducerClient(connection, 'incoming');
          const events = [{ body: { id: 1, isBad: true } }, { body: { id: 2 }, properties: { tries: 3 } }];
          await producer.sendBatch(events, { partitionKey: 'k' });
          await producer.close();
          const collected = (): number => linesOf('collect').flatMap((line) => line['events']).length;
          await eventually(() => collected() === 2);
          expect(linesOf('pass')).toMatchObject([
            { event: { id: 1 }, retryCount: 0 },
            { event: { id: 1 }, retryCount: 1 },
            {
              event: { id: 2 },
              triggerMetadata: {
                partitionKey: 'k',
                sequenceNumber: 1,
                offset: expect.any(Number), // text that the library of the function parses
                enqueuedTimeUtc: expect.stringMatching(/^\d{4}-/),
                properties: { tries: 3 },
                systemProperties: { sequenceNumber: 1, partitionKey: 'k' },
                partitionContext: {
                  eventHubName: 'incoming',
                  consumerGroup: '$Default',
                  partitionId: expect.any(String),
                },
              },
            },
          ]);
          const [batch] = linesOf('collect');
          expect(batch).toMatchObject({
            events: [
              { id: 2, copy: 1 },
              { id: 2, copy: 2 },
            ],
            triggerMetadata: {
              partitionKeyArray: ['same', 'same'],
              sequenceNumberArray: [0, 1],
              propertiesArray: [{ copy: 1 }, { copy: 2 }],
              systemPropertiesArray: [{ sequenceNumber: 0 }, { sequenceNumber: 1 }],
            },
          });
          const passedOver = runtime.log.filter(({ kind }) => kind === 'event-hub.passed-over');
          expect(passedOver).toMatchObject([{ functionName: 'pass', events: 1, firstSequenceNumber: 0 }]);
        });
      } finally {
        await emulators.stop();
      }
    }));
});
