const { appendFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { app } = require('@azure/functions');

const { LEDGER_FILE, WORK_MS = '0', APP_VERSION = '1' } = process.env;

app.storageQueue('record', {
  queueName: 'work',
  connection: 'AzureWebJobsStorage',
  handler: async ({ n }) => {
    await pause(Number(WORK_MS));
    appendFileSync(LEDGER_FILE, `${JSON.stringify({ n, pid: process.pid })}\n`);
  },
});

app.http('version', {
  authLevel: 'anonymous',
  handler: async () => {
    await pause(Number(WORK_MS));
    return { jsonBody: { version: APP_VERSION, pid: process.pid } };
  },
});
