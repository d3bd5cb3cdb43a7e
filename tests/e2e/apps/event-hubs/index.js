const { appendFileSync } = require('node:fs');
const { app, output } = require('@azure/functions');

const record = (line) => appendFileSync(process.env.LEDGER_FILE, `${JSON.stringify(line)}\n`);

app.eventHub('pass', {
  connection: 'EventHubs',
  eventHubName: 'incoming',
  cardinality: 'one',
  retry: { strategy: 'fixedDelay', maxRetryCount: 1, delayInterval: 10 },
  return: output.eventHub({ connection: 'EventHubs', eventHubName: 'outgoing' }),
  handler: (event, { triggerMetadata, retryContext }) => {
    record({ function: 'pass', event, triggerMetadata, retryCount: retryContext?.retryCount });
    if (event.isBad) throw new Error('a bad event');
    return [1, 2].map((copy) => ({
      $message: { body: { ...event, copy }, partitionKey: 'same', applicationProperties: { copy } },
    }));
  },
});

app.eventHub('collect', {
  connection: 'EventHubs',
  eventHubName: 'outgoing',
  cardinality: 'many',
  handler: (events, { triggerMetadata }) => record({ function: 'collect', events, triggerMetadata }),
});
