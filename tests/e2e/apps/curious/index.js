const { app } = require('@azure/functions');

app.http('start', {
  authLevel: 'anonymous',
  handler: () => {
    const { AZURE_FUNCTIONS_ENVIRONMENT, AzureWebJobsScriptRoot, FUNCTIONS_WORKER_DIRECTORY } = process.env;
    const environment = { AZURE_FUNCTIONS_ENVIRONMENT, AzureWebJobsScriptRoot, FUNCTIONS_WORKER_DIRECTORY };
    return { jsonBody: { environment, arguments: process.execArgv } };
  },
});
