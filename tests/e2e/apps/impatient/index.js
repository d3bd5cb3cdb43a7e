const { app } = require('@azure/functions');

app.http('pid', { authLevel: 'anonymous', handler: () => ({ body: String(process.pid) }) });

app.http('hang', { authLevel: 'anonymous', handler: () => new Promise(() => undefined) });

app.http('spin', {
  authLevel: 'anonymous',
  handler: () => {
    for (;;);
  },
});
