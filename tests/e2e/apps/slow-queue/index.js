const { writeSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { app, output } = require('@azure/functions');

app.storageQueue('slowly', {
  queueName: 'slow',
  connection: 'AzureWebJobsStorage',
  return: output.storageQueue({ queueName: 'slow-done', connection: 'AzureWebJobsStorage' }),
  handler: async (message) => {
    writeSync(1, `${process.pid} has message ${message.id}\n`);
    await sleep(100);
    return { done: message.id };
  },
});
