const { app, output } = require('@azure/functions');

const storage = 'AzureWebJobsStorage';
const targets = {
  queue: output.storageQueue({ queueName: 'parcels', connection: storage }),
  serviceBusQueue: output.serviceBusQueue({ queueName: 'orders', connection: 'ServiceBus' }),
  serviceBusBatch: output.serviceBusQueue({ queueName: 'invoices', connection: 'ServiceBus' }),
  serviceBusTopic: output.serviceBusTopic({ topicName: 'news', connection: 'ServiceBus' }),
  eventHub: output.eventHub({ eventHubName: 'telemetry', connection: 'EventHubs' }),
  blob: output.storageBlob({ path: 'incoming/{id}.txt', connection: storage }),
};

// POST /api/send/42 sends one message to every queue, topic, event hub and container below.
app.http('send', {
  methods: ['POST'],
  authLevel: 'anonymous',
  route: 'send/{id}',
  extraOutputs: Object.values(targets),
  handler: (request, context) => {
    const { id } = request.params;
    for (const [name, target] of Object.entries(targets))
      context.extraOutputs.set(target, name === 'blob' ? `parcel ${id}` : { id, sentTo: name });
    return { status: 202, jsonBody: { sent: Object.keys(targets) } };
  },
});
