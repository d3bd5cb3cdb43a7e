const { createSocket } = require('node:dgram');
const { app, output } = require('@azure/functions');

const { BENCH_FUNCTION, BENCH_ENTITY: entity, BENCH_COUNT, BENCH_REPORT_PORT } = process.env;
const socket = createSocket('udp4').unref();
const report = (fact) => socket.send(JSON.stringify(fact), Number(BENCH_REPORT_PORT), '127.0.0.1');
const nowMs = () => performance.timeOrigin + performance.now();
let seen = 0;
let firstMs = 0;
let due = Number(BENCH_COUNT);

/** Does nothing, but tells the time of a message that asks for it, and when each BENCH_COUNT messages were seen. */
function noop(input) {
  const messages = Array.isArray(input) ? input : [input];
  if (seen === 0) firstMs = nowMs();
  seen += messages.length;
  if (messages[0]?.isTimed) report({ kind: 'entered', atMs: nowMs(), sentMs: messages[0].sentMs });
  else if (seen >= due) {
    due += Number(BENCH_COUNT);
    report({ kind: 'seen', firstMs, lastMs: nowMs(), count: seen });
  }
}

const bus = { connection: 'BenchNamespace', queueName: entity, handler: noop };
const hub = { connection: 'BenchNamespace', eventHubName: entity, handler: noop };
const functions = {
  queue: () => app.storageQueue('noop', { connection: 'AzureWebJobsStorage', queueName: entity, handler: noop }),
  'service-bus': () => app.serviceBusQueue('noop', { ...bus, cardinality: 'one' }),
  'service-bus-many': () => app.serviceBusQueue('noop', { ...bus, cardinality: 'many' }),
  'event-hub': () => app.eventHub('noop', { ...hub, cardinality: 'one' }),
  'event-hub-many': () => app.eventHub('noop', { ...hub, cardinality: 'many' }),
};
functions[BENCH_FUNCTION]();

app.http('relay', {
  methods: ['POST'],
  authLevel: 'anonymous',
  return: output.storageQueue({ connection: 'AzureWebJobsStorage', queueName: entity }),
  handler: () => ({ isTimed: true }),
});
