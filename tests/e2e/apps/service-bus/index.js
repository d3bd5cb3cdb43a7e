const { appendFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { app, output } = require('@azure/functions');

const record = (line) => appendFileSync(process.env.LEDGER_FILE, `${JSON.stringify(line)}\n`);

app.serviceBusQueue('one', {
  queueName: 'one',
  connection: 'Bus',
  handler: (message, { triggerMetadata: { deliveryCount } }) => record({ saw: message, deliveryCount }),
});

app.serviceBusQueue('slow', {
  queueName: 'slow',
  connection: 'Bus',
  maxAutoLockRenewalDuration: '00:00:00',
  handler: async (message, { triggerMetadata: { deliveryCount } }) => {
    record({ slow: message, deliveryCount });
    if (deliveryCount === 1) await sleep(5_000);
  },
});

app.serviceBusTopic('many', {
  topicName: 'many',
  subscriptionName: 'all',
  connection: 'Bus',
  cardinality: 'many',
  return: output.serviceBusQueue({ queueName: 'answers', connection: 'Bus' }),
  handler: (messages, { triggerMetadata: { messageIdArray, applicationPropertiesArray } }) =>
    messages.map((body, n) => ({
      $message: {
        body,
        sessionId: 's',
        correlationId: messageIdArray[n],
        applicationProperties: applicationPropertiesArray[n],
      },
    })),
});
