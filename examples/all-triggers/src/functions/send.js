const { app, output } = require('@azure/functions');

const storage = 'AzureWebJobsStorage';
const targets = {
  queue: output.storageQueue({ queueName: 'parcels', connection: storage }),
  serviceBusQueue: output.serviceBusQueue({ queueName: 'orders', connection: 'ServiceBus' }),
  serviceBusBatch: output.serviceBusQueue({ queueName: 'invoices', connection: 'ServiceBus' }),
  serviceBusTopic: output.serviceBusTopic({ topicName: 'news', connection: 'ServiceBus' }),
  eventHub: output.eventHub({ eventHubName: 'telemetry', connection: 'EventHubs' }),
  blob: output.storageBlob({ path: 'incoming/{id}.txt', connection: storage }),
  // The settings name the webhook of onEventGrid, where a subscription would deliver the events of a topic.
  eventGrid: output.eventGrid({ topicEndpointUri: 'TopicEndpoint', topicKeySetting: 'TopicKey' }),
};

/** What is sent to a target. */
function messageFor(target, id) {
  if (target === 'blob') return `parcel ${id}`;
  if (target === 'eventGrid') return { id, subject: `parcels/${id}`, eventType: 'parcel.sent', data: { id } };
  return { id, sentTo: target };
}

// POST /api/send/42 sends one message to each of them.
app.http('send', {
  methods: ['POST'],
  authLevel: 'anonymous',
  route: 'send/{id}',
  extraOutputs: Object.values(targets),
  handler: (request, context) => {
    const { id } = request.params;
    for (const [name, target] of Object.entries(targets)) context.extraOutputs.set(target, messageFor(name, id));
    return { status: 202, jsonBody: { sent: Object.keys(targets) } };
  },
});
