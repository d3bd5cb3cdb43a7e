const { appendFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { app } = require('@azure/functions');

const write = (what, { id, version }) =>
  appendFileSync(process.env.LEDGER_FILE, `${JSON.stringify({ what, id, version, pid: process.pid })}\n`);

app.generic('remember', {
  trigger: { type: 'collectionTrigger', name: 'change', collection: 'ledger', startFrom: 'beginning' },
  handler: async (change) => {
    write('began', change);
    await pause(20);
    write('ended', change);
  },
});
