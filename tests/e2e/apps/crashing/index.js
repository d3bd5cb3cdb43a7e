const { writeSync } = require('node:fs');
const { Socket } = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { app } = require('@azure/functions');

app.http('calm', { authLevel: 'anonymous', handler: () => ({ body: String(process.pid) }) });

app.http('crash', { authLevel: 'anonymous', handler: () => process.exit(3) });

/** Loses its connection to the host and lives on, as a worker in another language may. */
app.http('linger', {
  authLevel: 'anonymous',
  handler: () => {
    process.exit = () => undefined;
    process.on('SIGTERM', () => undefined);
    setInterval(() => undefined, 1_000);
    for (const handle of process._getActiveHandles()) if (handle instanceof Socket) handle.destroy();
    return new Promise(() => undefined);
  },
});

app.storageQueue('letters', {
  queueName: 'letters',
  connection: 'AzureWebJobsStorage',
  handler: async (letter) => {
    writeSync(1, `${process.pid} opens letter ${letter.id}\n`);
    await sleep(50);
    if (letter.isPoison) process.exit(4);
    writeSync(1, `letter ${letter.id} is read\n`);
  },
});
