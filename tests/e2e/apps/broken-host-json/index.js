const { app } = require('@azure/functions');

app.http('fine', { authLevel: 'anonymous', handler: () => ({ body: 'fine' }) });
