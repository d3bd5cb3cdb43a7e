const { Readable } = require('node:stream');
const { app, HttpResponse, HttpRequest, InvocationContext } = require('@azure/functions');

app.http('seeRequest', {
  methods: ['GET', 'POST', 'PUT'],
  authLevel: 'function',
  route: 'things/{id:int}/{*rest}',
  handler: async (request, context) => ({
    jsonBody: {
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      query: [...request.query],
      params: request.params,
      user: request.user && { type: request.user.type, id: request.user.id, username: request.user.username },
      body: await request.clone().text(),
      again: await request.text(),
      used: request.bodyUsed,
      isRequest: request instanceof HttpRequest,
      isContext: context instanceof InvocationContext,
      metadata: context.triggerMetadata ?? null,
    },
  }),
});

app.http('seeForm', {
  methods: ['POST'],
  handler: async (request) => {
    const form = await request.formData();
    const file = form.get('file');
    return { jsonBody: { field: form.get('field'), file: [file.name, file.type, await file.text()] } };
  },
});

app.http('seeJson', { methods: ['POST'], handler: async (request) => ({ jsonBody: await request.json() }) });

app.http('seeBytes', {
  methods: ['POST'],
  handler: async (request) => {
    const chunks = [];
    for await (const chunk of request.body) chunks.push(chunk);
    return { body: Buffer.concat(chunks) };
  },
});

const answers = {
  nothing: () => undefined,
  null: () => null,
  empty: () => ({}),
  text: () => ({ body: 'text' }),
  bytes: () => ({ body: Buffer.from([0, 255]) }),
  arrayBuffer: () => ({ body: new Uint8Array([1, 2]).buffer }),
  stream: () => ({ body: Readable.toWeb(Readable.from([Buffer.from('a'), Buffer.from('b')])) }),
  generator: () => ({
    body: (async function* () {
      yield Buffer.from('c');
      yield Buffer.from('d');
    })(),
  }),
  form: () => ({ body: new URLSearchParams({ a: '1' }) }),
  json: () => ({ jsonBody: { a: [1, null] } }),
  jsonNull: () => ({ jsonBody: null }),
  jsonTyped: () => ({ jsonBody: 1, headers: { 'content-type': 'application/problem+json' } }),
  status: () => ({ status: 418, body: 'teapot' }),
  headers: () => ({ headers: { 'X-One': '1', 'x-two': 'a, b' } }),
  headersObject: () => ({
    headers: new Headers([
      ['x-list', '1'],
      ['x-list', '2'],
    ]),
  }),
  cookies: () => ({
    cookies: [
      { name: 'plain', value: '1' },
      {
        name: 'all',
        value: '2',
        domain: 'example.test',
        path: '/p',
        expires: new Date(1_700_000_000_000),
        maxAge: 60,
        secure: true,
        httpOnly: true,
        sameSite: 'Strict',
      },
      { name: 'none', value: '3', sameSite: 'None', expires: 1_700_000_000_000 },
      { name: 'lax', value: '4', sameSite: 'Lax', secure: false },
    ],
  }),
  negotiated: () => ({ body: 'x', enableContentNegotiation: true }),
  noBodyAllowed: () => ({ status: 204, body: 'dropped' }),
  response: () => new HttpResponse({ status: 202, body: 'made', headers: { 'x-made': 'yes' } }),
  number: () => 5,
  string: () => 'text',
};

app.http('answer', { route: 'answer/{kind}', handler: (request) => answers[request.params.kind]() });

app.get('byGet', () => ({ body: 'get' }));
app.post('byPost', () => ({ body: 'post' }));
app.put('byPut', { route: 'put/it', handler: () => ({ body: 'put' }) });
app.patch('byPatch', () => ({ body: 'patch' }));
app.deleteRequest('byDelete', () => ({ body: 'delete' }));
