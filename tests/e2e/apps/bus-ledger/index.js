const { appendFileSync } = require('node:fs');
const { app } = require('@azure/functions');

const record = (line) => appendFileSync(process.env.LEDGER_FILE, `${JSON.stringify(line)}\n`);

app.serviceBusQueue('record', {
  queueName: 'ledger',
  connection: 'Bus',
  handler: ({ n }, { triggerMetadata: { sequenceNumber, deliveryCount } }) =>
    record({ n, sequenceNumber, deliveryCount }),
});

app.serviceBusQueue('inOrder', {
  queueName: 'ordered',
  connection: 'Bus',
  isSessionsEnabled: true,
  handler: ({ n }, { triggerMetadata: { sessionId, deliveryCount } }) => record({ sessionId, n, deliveryCount }),
});

app.serviceBusQueue('poisonous', {
  queueName: 'mixed',
  connection: 'Bus',
  handler: ({ n }, { triggerMetadata: { deliveryCount } }) => {
    record({ mixed: n, deliveryCount });
    if (n < 0) throw new Error('this message always fails');
  },
});
