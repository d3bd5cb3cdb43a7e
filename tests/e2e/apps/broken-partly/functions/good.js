const { app } = require('@azure/functions');

app.http('good', { authLevel: 'anonymous', handler: () => ({ body: 'good all the same' }) });
