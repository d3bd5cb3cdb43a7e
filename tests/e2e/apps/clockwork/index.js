const { setTimeout: sleep } = require('node:timers/promises');
const { app, output } = require('@azure/functions');

/** What this worker has seen. */
const seen = { warmups: 0, ticks: [], starts: [], events: [] };

app.warmup('warmUp', {
  handler: async () => {
    await sleep(500);
    seen.warmups += 1;
    throw new Error('a warmup that fails changes nothing');
  },
});

app.timer('tick', {
  schedule: '%TickSchedule%',
  handler: (timer) => void seen.ticks.push(timer),
});

app.timer('onStart', {
  schedule: '0 0 0 1 1 *',
  runOnStartup: true,
  handler: (timer, context) => {
    seen.starts.push(timer);
    seen.warmupsBefore ??= seen.warmups;
    context.log(`started in ${process.pid}`);
  },
});

app.eventGrid('onEvent', {
  handler: async (event) => {
    if (event.data?.fails) throw new Error('this event is refused');
    seen.events.push(event);
  },
});

app.http('seen', { authLevel: 'anonymous', handler: () => ({ jsonBody: seen }) });

const topic = output.eventGrid({ topicEndpointUri: 'TopicUri', topicKeySetting: 'TopicKey' });
app.http('publish', {
  authLevel: 'anonymous',
  methods: ['POST'],
  extraOutputs: [topic],
  handler: async (request, context) => {
    context.extraOutputs.set(topic, await request.json());
    return { status: 202 };
  },
});

app.http('environment', {
  authLevel: 'anonymous',
  handler: () => ({ jsonBody: Object.entries(process.env).map(([name, value]) => `${name}=${value}`) }),
});
