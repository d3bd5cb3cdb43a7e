const { app, trigger, promptArg } = require('@azure/functions');
const { see } = require('../describe.js');

app.storageQueue('queue', { queueName: 'in', connection: 'Storage', handler: see });
app.storageQueue('queueBinary', { queueName: 'in', connection: 'Storage', dataType: 'binary', handler: see });
app.storageBlob('blob', { path: 'samples/{name}', connection: 'Storage', source: 'EventGrid', handler: see });
app.serviceBusQueue('busQueue', { queueName: 'in', connection: 'Bus', isSessionsEnabled: true, handler: see });
app.serviceBusQueue('busQueueMany', {
  queueName: 'in',
  connection: 'Bus',
  cardinality: 'many',
  autoCompleteMessages: false,
  handler: see,
});
app.serviceBusTopic('busTopic', { topicName: 't', subscriptionName: 's', connection: 'Bus', handler: see });
app.eventHub('hub', { eventHubName: 'h', connection: 'Hub', cardinality: 'one', handler: see });
app.eventHub('hubMany', {
  eventHubName: '%HubName%',
  connection: 'Hub',
  cardinality: 'many',
  consumerGroup: 'g',
  handler: see,
});
app.eventGrid('grid', { handler: see });
app.cosmosDB('cosmos', {
  connection: 'Cosmos',
  databaseName: 'd',
  containerName: 'c',
  createLeaseContainerIfNotExists: true,
  handler: see,
});
app.timer('timer', { schedule: '0 */5 * * * *', runOnStartup: false, useMonitor: true, handler: see });
app.warmup('warmup', { handler: see });
app.sql('sql', { tableName: 'dbo.Orders', connectionStringSetting: 'Sql', handler: see });
app.mySql('mySql', { tableName: 'Orders', connectionStringSetting: 'MySql', handler: see });
app.webPubSub('pubSub', {
  name: 'message',
  hub: 'chat',
  eventType: 'user',
  eventName: 'message',
  connection: 'PubSub',
  handler: see,
});
app.connectorTrigger('connector', { handler: see });
app.mcpTool('mcpTool', {
  toolName: 'add',
  description: 'adds',
  toolProperties: [{ propertyName: 'a', propertyType: 'number', description: 'the first' }],
  handler: see,
});
app.mcpResource('mcpResource', { uri: 'file://readme', resourceName: 'readme', handler: see });
app.mcpPrompt('mcpPrompt', {
  promptName: 'greet',
  promptArguments: { who: promptArg.describe('whom to greet').isRequired() },
  handler: (prompt, context) => see({ name: prompt.name, arguments: prompt.arguments }, context),
});
app.generic('generic', {
  trigger: trigger.generic({ type: 'kafkaTrigger', name: 'event', topic: 'orders', nested: { a: [1, 'b'] } }),
  handler: see,
});
app.generic('genericByOtherName', { trigger: trigger.generic({ type: 'pigeon', loft: 'north' }), handler: see });

app.timer('retriedFixed', {
  schedule: '0 0 * * * *',
  retry: { strategy: 'fixedDelay', maxRetryCount: 3, delayInterval: { seconds: 30 } },
  handler: see,
});
app.eventHub('retriedExponential', {
  eventHubName: 'h',
  connection: 'Hub',
  retry: {
    strategy: 'exponentialBackoff',
    maxRetryCount: -1,
    minimumInterval: { seconds: 2 },
    maximumInterval: { minutes: 5 },
  },
  handler: see,
});
