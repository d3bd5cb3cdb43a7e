const { appendFileSync } = require('node:fs');
const { app } = require('@azure/functions');

app.storageQueue('record', {
  queueName: 'ledger',
  connection: 'AzureWebJobsStorage',
  handler: (message, { triggerMetadata: { id, dequeueCount } }) => {
    appendFileSync(process.env.LEDGER_FILE, `${JSON.stringify({ n: message.n, id, dequeueCount })}\n`);
  },
});
