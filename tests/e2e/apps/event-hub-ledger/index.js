const { appendFileSync } = require('node:fs');
const { app } = require('@azure/functions');

app.eventHub('record', {
  eventHubName: 'ledger',
  connection: 'EventHubs',
  cardinality: 'many',
  handler: (events, { triggerMetadata: { partitionContext, sequenceNumberArray } }) => {
    const at = Date.now();
    const lines = events.map(({ n }, index) =>
      JSON.stringify({ n, partition: partitionContext.partitionId, number: sequenceNumberArray[index], at }),
    );
    appendFileSync(process.env.LEDGER_FILE, `${lines.join('\n')}\n`);
  },
});
