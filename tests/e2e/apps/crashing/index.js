const { writeSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { app } = require('@azure/functions');

app.http('calm', { authLevel: 'anonymous', handler: () => ({ body: String(process.pid) }) });

app.http('crash', { authLevel: 'anonymous', handler: () => process.exit(3) });

app.storageQueue('letters', {
  queueName: 'letters',
  connection: 'AzureWebJobsStorage',
  handler: async (letter) => {
    writeSync(1, `${process.pid} opens letter ${letter.id}\n`);
    await sleep(50);
    if (letter.isPoison) process.exit(4);
    writeSync(1, `letter ${letter.id} is read\n`);
  },
});
