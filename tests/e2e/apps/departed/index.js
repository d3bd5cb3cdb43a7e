const { setTimeout: sleep } = require('node:timers/promises');
const { app, input, output } = require('@azure/functions');

const done = output.storageQueue({ queueName: 'departed', connection: 'AzureWebJobsStorage' });

/** Resolves when the client has left, or after a while. */
const told = (signal) =>
  Promise.race([sleep(20_000), new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);

app.http('leave', {
  route: 'leave/{id}',
  extraOutputs: [done],
  handler: async (request, context) => {
    context.log(`leave ${request.params.id} begins`);
    if (request.query.has('until-told')) await told(context.signal);
    await sleep(Number(request.query.get('ms') ?? 0));
    context.extraOutputs.set(done, { id: request.params.id, isTold: context.signal.aborted });
    return { status: 202, body: 'accepted' };
  },
});

const first = output.storageQueue({ queueName: 'first', connection: 'AzureWebJobsStorage' });
const second = output.storageQueue({ queueName: 'second', connection: 'AzureWebJobsStorage' });
const tooLong = 'x'.repeat(65_537);

app.http('twoOutputs', {
  extraOutputs: [first, second],
  handler: async (_, context) => {
    context.extraOutputs.set(first, 'fits');
    context.extraOutputs.set(second, tooLong);
    return { body: 'ran' };
  },
});

app.storageQueue('twoOutputsOfMessage', {
  queueName: 'two',
  connection: 'AzureWebJobsStorage',
  extraOutputs: [first, second],
  handler: async (_, context) => {
    context.extraOutputs.set(first, 'fits');
    context.extraOutputs.set(second, tooLong);
  },
});

app.http('fails', {
  handler: async () => {
    throw new Error('this function fails');
  },
});

const descend = (levels) => {
  if (levels === 0) throw new RangeError('deep down');
  descend(levels - 1);
};

app.http('deep', {
  handler: async () => {
    await sleep(1);
    descend(12);
  },
});

app.storageQueue('failsToo', {
  queueName: 'failing',
  connection: 'AzureWebJobsStorage',
  handler: async () => {
    throw new TypeError('this one too');
  },
});

const row = output.generic({ type: 'sql', commandText: 'rows', connectionStringSetting: 'Sql' });
const document = input.generic({ type: 'cosmosDB', databaseName: 'd', containerName: 'c', connection: 'Cosmos' });

app.http('elsewhere', {
  extraOutputs: [row],
  extraInputs: [document],
  handler: async (request, context) => {
    const use = request.query.get('use');
    if (use === 'input') context.extraInputs.get(document);
    if (use === 'output') context.extraOutputs.set(row, { id: 1 });
    return { body: 'ran' };
  },
});
