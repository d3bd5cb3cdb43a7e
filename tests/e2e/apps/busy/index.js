const { writeSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { app } = require('@azure/functions');

/** Past all buffers: a handler that never comes back to the event loop is heard, too. */
const say = (text) => writeSync(1, `${text}\n`);

app.http('pid', { authLevel: 'anonymous', handler: () => ({ body: String(process.pid) }) });

app.http('echo', {
  methods: ['POST'],
  authLevel: 'anonymous',
  handler: async (request) => ({
    headers: { 'content-type': 'application/octet-stream' },
    body: await request.arrayBuffer(),
  }),
});

app.http('slow', {
  authLevel: 'anonymous',
  route: 'slow/{ms:int}',
  handler: async (request) => {
    say('slow begins');
    await sleep(Number(request.params.ms));
    return { body: 'slow ended' };
  },
});

app.http('busySpin', {
  authLevel: 'anonymous',
  route: 'spin',
  handler: () => {
    say('spin begins');
    for (;;);
  },
});

app.http('keyed', { authLevel: 'function', handler: () => ({ body: 'opened' }) });
