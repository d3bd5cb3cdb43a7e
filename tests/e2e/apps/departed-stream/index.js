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

const written = output.storageQueue({ queueName: 'written', connection: 'AzureWebJobsStorage' });
const bodies = {
  text: () => ({ body: 'text' }),
  json: () => ({ jsonBody: { text: 'json' } }),
  large: () => ({ body: Buffer.alloc(5_000_000, 'large ') }),
};

app.http('written', {
  route: 'stream/written/{kind}',
  extraOutputs: [written],
  handler: async (request, context) => {
    context.extraOutputs.set(written, request.query.has('fail') ? 'x'.repeat(65_537) : request.params.kind);
    return bodies[request.params.kind]();
  },
});

app.http('streamed', {
  route: 'stream/streamed',
  extraOutputs: [written],
  handler: async (_, context) => {
    context.extraOutputs.set(written, 'streamed');
    let isFirst = true;
    const body = new ReadableStream({
      async pull(stream) {
        if (isFirst) stream.enqueue(Buffer.from('first '));
        else {
          await told(context.signal);
          stream.close();
        }
        isFirst = false;
      },
    });
    return { body };
  },
});

app.http('nothing', { route: 'stream/nothing', handler: async () => undefined });
