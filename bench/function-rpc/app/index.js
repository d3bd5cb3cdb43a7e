const { app } = require('@azure/functions');

// Switched off in local.settings.json: nobody listens to its queue, the suite calls it itself.
app.storageQueue('noop', { queueName: 'noop', connection: 'Storage', handler: async () => undefined });
