const { Readable } = require('node:stream');
const { app } = require('@azure/functions');

app.setup({ enableHttpStream: true, capabilities: { OfTheApp: 'yes' } });

app.http('upper', {
  methods: ['POST'],
  route: 'upper/{name}',
  handler: async (request) => ({
    status: 203,
    headers: { 'x-name': request.params.name, 'x-url': request.url, 'x-header': request.headers.get('x-in') ?? '' },
    cookies: [{ name: 'c', value: 'v', path: '/' }],
    body: Readable.from(
      (async function* () {
        for await (const chunk of request.body) yield Buffer.from(chunk).toString().toUpperCase();
      })(),
    ),
  }),
});

app.http('breaks', { handler: () => Promise.reject(new Error('before any answer')) });

app.storageQueue('beside', { queueName: 'in', connection: 'Storage', handler: (item) => ({ got: item }) });
