const { createSocket } = require('node:dgram');
const { app } = require('@azure/functions');

const { BENCH_NAME, BENCH_PORT } = process.env;

app.http('hello', {
  route: `${BENCH_NAME}/hello`,
  authLevel: 'anonymous',
  handler: async () => ({ jsonBody: { pid: process.pid } }),
});

app.serviceBusQueue('receive', {
  queueName: `cold-${BENCH_NAME}`,
  connection: 'ServiceBus',
  handler: async (message) => {
    const socket = createSocket('udp4');
    await new Promise((resolve) => socket.send(String(message), Number(BENCH_PORT), '127.0.0.1', resolve));
    socket.close();
  },
});
