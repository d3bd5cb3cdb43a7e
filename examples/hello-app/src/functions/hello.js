const { app } = require('@azure/functions');

app.http('hello', {
  methods: ['GET', 'POST'],
  authLevel: 'anonymous',
  route: 'hello/{name?}',
  handler: async (request, context) => {
    const name = request.params.name ?? ((await request.text()) || 'world');
    context.log(`greeting ${name}`);
    return { jsonBody: { hello: name } };
  },
});
