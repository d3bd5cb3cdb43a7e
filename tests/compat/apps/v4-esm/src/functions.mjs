import { app, output } from '@azure/functions';

app.http('greet', {
  route: 'greet/{name}',
  handler: async (request, context) => {
    const { default: later } = await import('./later.mjs');
    return { body: [context.extraInputs.get('greeting'), later(request.params.name)].join(', ') };
  },
});

app.storageQueue('copy', {
  queueName: 'incoming',
  connection: 'Storage',
  return: output.storageQueue({ queueName: 'outgoing', connection: 'Storage' }),
  handler: async (item) => ({ copied: item }),
});
