const { app } = require('@azure/functions');

app.http('first', { authLevel: 'anonymous', route: 'twice', handler: () => ({ body: 'first' }) });
app.http('second', { authLevel: 'anonymous', route: 'Twice', handler: () => ({ body: 'second' }) });
