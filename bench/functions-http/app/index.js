const { app } = require('@azure/functions');

app.http('noop', {
  methods: ['GET', 'POST'],
  authLevel: 'anonymous',
  handler: async () => ({ jsonBody: { ok: true } }),
});
