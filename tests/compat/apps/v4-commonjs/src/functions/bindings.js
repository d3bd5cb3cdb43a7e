const { app, input, output } = require('@azure/functions');
const { describe } = require('../describe.js');

const inputs = {
  blob: input.storageBlob({ path: 'samples/{queueTrigger}', connection: 'Storage' }),
  table: input.table({ tableName: 't', partitionKey: 'p', connection: 'Storage' }),
  cosmosDB: input.cosmosDB({ connection: 'Cosmos', databaseName: 'd', containerName: 'c', id: '{id}' }),
  sql: input.sql({ commandText: 'select 1', commandType: 'Text', connectionStringSetting: 'Sql' }),
  mySql: input.mySql({ commandText: 'select 1', commandType: 'Text', connectionStringSetting: 'MySql' }),
  webPubSubConnection: input.webPubSubConnection({ name: 'connection', hub: 'chat', connection: 'PubSub' }),
  webPubSubContext: input.webPubSubContext({ name: 'wpsContext', connection: 'PubSub' }),
  generic: input.generic({ type: 'dropbox', folder: 'f' }),
};

app.storageQueue('inputs', {
  queueName: 'in',
  connection: 'Storage',
  extraInputs: Object.values(inputs),
  handler: (item, context) =>
    describe({
      item,
      ...Object.fromEntries(Object.entries(inputs).map(([key, binding]) => [key, context.extraInputs.get(binding)])),
      byName: context.extraInputs.get('wpsContext'),
      options: context.options.extraInputs.map(({ type }) => type),
    }),
});

const outputs = {
  blob: output.storageBlob({ path: 'out/{rand-guid}', connection: 'Storage' }),
  table: output.table({ tableName: 't', connection: 'Storage' }),
  queue: output.storageQueue({ queueName: 'out', connection: 'Storage' }),
  busQueue: output.serviceBusQueue({ queueName: 'out', connection: 'Bus' }),
  busTopic: output.serviceBusTopic({ topicName: 'out', connection: 'Bus' }),
  hub: output.eventHub({ eventHubName: 'out', connection: 'Hub' }),
  grid: output.eventGrid({ topicEndpointUri: 'Uri', topicKeySetting: 'Key' }),
  cosmosDB: output.cosmosDB({ connection: 'Cosmos', databaseName: 'd', containerName: 'c' }),
  sql: output.sql({ commandText: 'dbo.Orders', connectionStringSetting: 'Sql' }),
  mySql: output.mySql({ commandText: 'Orders', connectionStringSetting: 'MySql' }),
  webPubSub: output.webPubSub({ name: 'actions', hub: 'chat', connection: 'PubSub' }),
  generic: output.generic({ type: 'sendGrid', to: '{email}' }),
};

/** One of each kind of value that a handler may put into an output. */
const values = {
  blob: () => Buffer.from([0, 1, 255]),
  table: () => [{ PartitionKey: 'p', RowKey: '1' }],
  queue: () => ['a', { b: 1 }],
  busQueue: () => 'text',
  busTopic: () => new Uint16Array([1, 2]),
  hub: () => 42,
  grid: () => 1.5,
  cosmosDB: () => ({ id: '1', nested: { at: new Date(0) } }),
  sql: () => true,
  mySql: () => new Uint8Array([9]).buffer,
  webPubSub: () => null,
  generic: () => undefined,
};

app.storageQueue('outputs', {
  queueName: 'in',
  connection: 'Storage',
  extraOutputs: Object.values(outputs),
  handler: (_, context) => {
    for (const [key, binding] of Object.entries(outputs)) context.extraOutputs.set(binding, values[key]());
    context.extraOutputs.set('nobody asked for this', 'and nobody gets it');
  },
});

for (const [key, binding] of Object.entries(outputs)) {
  app.storageQueue(`return-${key}`, { queueName: 'in', connection: 'Storage', return: binding, handler: values[key] });
}

app.http('httpAndQueue', {
  extraOutputs: [outputs.queue],
  handler: (_, context) => {
    context.extraOutputs.set(outputs.queue, [1, 2]);
    return { status: 201, jsonBody: { both: true } };
  },
});

app.http('httpReturnsQueue', { return: outputs.queue, handler: () => 'not HTTP at all' });
