const { app } = require('@azure/functions');

app.http('order', {
  methods: ['GET'],
  route: 'orders/{id}',
  authLevel: 'anonymous',
  handler: (request) => ({ body: `order ${request.params.id}` }),
});

app.http('locked', { methods: ['GET'], authLevel: 'function', handler: () => ({ body: 'opened' }) });

// The platform has these paths.
app.http('hidden', { route: 'v1/{*rest}', authLevel: 'anonymous', handler: () => ({ body: 'hidden' }) });
