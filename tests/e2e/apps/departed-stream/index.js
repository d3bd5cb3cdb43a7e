const { setTimeout: sleep } = require('node:timers/promises');
const { app, output } = require('@azure/functions');

app.setup({ enableHttpStream: true });

const done = output.storageQueue({ queueName: 'departed-stream', connection: 'AzureWebJobsStorage' });

/** Resolves when the client has left, or after a while. */
const told = (signal) =>
  Promise.race([sleep(20_000), new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);

app.http('leave', {
  route: 'stream/leave/{id}',
  extraOutputs: [done],
  handler: async (request, context) => {
    context.log(`leave ${request.params.id} begins`);
    if (request.query.has('until-told')) await told(context.signal);
    await sleep(Number(request.query.get('ms') ?? 0));
    context.extraOutputs.set(done, { id: request.params.id, isTold: context.signal.aborted });
    return { status: 202, body: 'accepted' };
  },
});

app.http('nothing', { route: 'stream/nothing', handler: async () => undefined });
