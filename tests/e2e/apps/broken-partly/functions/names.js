const { app } = require('@azure/functions');

app.http('named', { authLevel: 'anonymous', handler: () => ({ body: 'named' }) });
app.http('NAMED', { authLevel: 'anonymous', route: 'other', handler: () => ({ body: 'NAMED' }) });
