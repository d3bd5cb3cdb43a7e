const { app, input, output } = require('@azure/functions');

const storage = 'AzureWebJobsStorage';
// Every function below writes one row for each message that it has got; GET /api/results/{trigger} reads them.
const results = output.table({ tableName: 'results', connection: storage });
const row = (trigger, id, more = {}) => ({ PartitionKey: trigger, RowKey: String(id), ...more });

app.storageQueue('onQueue', {
  queueName: 'parcels',
  connection: storage,
  return: results,
  handler: ({ id }) => row('queue', id),
});

app.serviceBusQueue('onServiceBusQueue', {
  queueName: 'orders',
  connection: 'ServiceBus',
  return: results,
  handler: ({ id }) => row('serviceBusQueue', id),
});

app.serviceBusQueue('onServiceBusBatch', {
  queueName: 'invoices',
  connection: 'ServiceBus',
  cardinality: 'many',
  return: results,
  handler: (messages) => messages.map(({ id }) => row('serviceBusBatch', id)),
});

// The messages of one session arrive in order.
app.serviceBusQueue('onServiceBusSession', {
  queueName: 'chats',
  connection: 'ServiceBus',
  isSessionsEnabled: true,
  return: results,
  handler: ({ id, text }) => row('serviceBusSession', id, { text }),
});

app.serviceBusTopic('onServiceBusTopic', {
  topicName: 'news',
  subscriptionName: 'readers',
  connection: 'ServiceBus',
  return: results,
  handler: ({ id }) => row('serviceBusTopic', id),
});

app.eventHub('onEventHub', {
  eventHubName: 'telemetry',
  connection: 'EventHubs',
  cardinality: 'many',
  return: results,
  handler: (events) => events.map(({ id }) => row('eventHub', id)),
});

const copy = output.storageBlob({ path: 'copied/{name}.txt', connection: storage });

app.storageBlob('onBlob', {
  path: 'incoming/{name}.txt',
  connection: storage,
  return: results,
  extraOutputs: [copy],
  handler: (content, context) => {
    context.extraOutputs.set(copy, `${content.toString()}, copied`);
    return row('blob', context.triggerMetadata.name);
  },
});

app.eventGrid('onEventGrid', {
  return: results,
  handler: ({ id }) => row('eventGrid', id),
});

app.timer('onTimer', {
  schedule: '*/5 * * * * *',
  runOnStartup: true,
  return: results,
  handler: ({ isPastDue }) => row('timer', Date.now(), { isPastDue }),
});

let isWarm = false;
app.warmup('onWarmup', {
  handler: () => {
    isWarm = true;
  },
});

const rows = input.table({ tableName: 'results', connection: storage, partitionKey: '{trigger}' });

app.http('results', {
  methods: ['GET'],
  authLevel: 'anonymous',
  route: 'results/{trigger}',
  extraInputs: [rows],
  handler: (_request, context) => ({ jsonBody: { isWarm, rows: context.extraInputs.get(rows) ?? [] } }),
});

const copied = input.storageBlob({ path: 'copied/{id}.txt', connection: storage });

app.http('copy', {
  methods: ['GET'],
  authLevel: 'anonymous',
  route: 'copies/{id}',
  extraInputs: [copied],
  handler: (_request, context) => {
    const content = context.extraInputs.get(copied);
    return content === undefined || content === null ? { status: 404 } : { body: content };
  },
});
