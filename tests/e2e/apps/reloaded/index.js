const { app } = require('@azure/functions');

const version = 'one';

app.http('version', { authLevel: 'anonymous', handler: () => ({ body: version }) });
