const { appendFileSync } = require('node:fs');
const { app } = require('@azure/functions');

const { BENCH_NAME, BENCH_REPORTS } = process.env;

app.http('hello', {
  route: `${BENCH_NAME}/hello`,
  authLevel: 'anonymous',
  handler: async () => ({ jsonBody: { pid: process.pid } }),
});

app.serviceBusQueue('receive', {
  queueName: `cold-${BENCH_NAME}`,
  connection: 'ServiceBus',
  handler: async (message) => appendFileSync(BENCH_REPORTS, `${String(message)}\n`),
});
