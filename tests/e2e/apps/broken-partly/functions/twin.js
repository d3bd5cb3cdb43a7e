const { app } = require('@azure/functions');

app.http('good', { authLevel: 'anonymous', route: 'twin', handler: () => ({ body: 'twin' }) });
