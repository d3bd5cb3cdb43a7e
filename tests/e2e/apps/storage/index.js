const { app, input, output } = require('@azure/functions');
const { ResourceFactoryResolver } = require('@azure/functions-extensions-base');

// A blob is copied in a chain: trigger, output, trigger.
app.storageBlob('copy', {
  path: 'incoming/{name}.{ext}',
  connection: 'Shop',
  return: output.storageBlob({ path: 'copies/{name}-copy.{ext}', connection: 'Shop' }),
  handler: (blob, context) => {
    const { name, ext, blobTrigger, uri, properties, metadata } = context.triggerMetadata;
    context.log(
      `copy ${JSON.stringify({ isBuffer: Buffer.isBuffer(blob), name, ext, blobTrigger, uri, metadata, length: properties.contentLength })}`,
    );
    return blob;
  },
});
app.storageBlob('announce', {
  path: 'copies/{name}',
  connection: 'Shop',
  handler: (blob, context) => context.log(`announce ${String(context.triggerMetadata.name)}: ${String(blob)}`),
});
app.storageBlob('fail', {
  path: 'broken/{name}',
  connection: 'Shop',
  handler: (blob, context) => {
    context.log(`fail ${String(context.triggerMetadata.name)}`);
    throw new Error('not this one');
  },
});
app.storageBlob('slowly', {
  path: 'slow/{name}',
  connection: 'Shop',
  handler: async (blob, context) => {
    context.log(`slowly began ${String(context.triggerMetadata.name)}`);
    await new Promise((resolve) => setTimeout(resolve, 700));
    context.log(`slowly ended ${String(context.triggerMetadata.name)}`);
  },
});
// The extension package of an app makes a client of this; here, what it gets is logged.
ResourceFactoryResolver.getInstance().registerResourceFactory('AzureStorageBlobs', ({ content }) =>
  JSON.parse(content.toString()),
);
app.storageBlob('subscribed', {
  path: 'events/{name}',
  connection: 'Shop',
  source: 'EventGrid',
  sdkBinding: true,
  handler: (client, context) => context.log(`subscribed ${JSON.stringify(client)}`),
});

const photo = input.storageBlob({ path: 'copies/{name}', connection: 'Shop' });
app.http('photo', {
  route: 'photo/{name}',
  authLevel: 'anonymous',
  extraInputs: [photo],
  handler: (_, context) => {
    const blob = context.extraInputs.get(photo);
    return {
      jsonBody: {
        type: blob === undefined ? 'undefined' : Buffer.isBuffer(blob) ? 'buffer' : typeof blob,
        text: blob?.toString(),
      },
    };
  },
});

const upload = output.storageBlob({ path: 'uploads/{rand-guid}.json', connection: 'Shop' });
app.http('upload', {
  methods: ['POST'],
  authLevel: 'anonymous',
  extraOutputs: [upload],
  handler: async (request, context) => {
    context.extraOutputs.set(upload, await request.json());
    return { status: 201 };
  },
});

const people = output.table({ tableName: 'people', connection: 'Shop' });
app.http('addPeople', {
  methods: ['POST'],
  route: 'people',
  authLevel: 'anonymous',
  extraOutputs: [people],
  handler: async (request, context) => {
    context.extraOutputs.set(people, await request.json());
    return { status: 201 };
  },
});
const person = input.table({ tableName: 'people', partitionKey: '{city}', rowKey: '{id}', connection: 'Shop' });
app.http('person', {
  methods: ['GET'],
  route: 'people/{city}/{id}',
  authLevel: 'anonymous',
  extraInputs: [person],
  handler: (_, context) => ({ jsonBody: { person: context.extraInputs.get(person) ?? 'none' } }),
});
const named = input.table({
  tableName: 'people',
  partitionKey: 'Bern',
  filter: "Name eq '{name}'",
  take: 2,
  connection: 'Shop',
});
app.http('named', {
  methods: ['GET'],
  route: 'named/{name}',
  authLevel: 'anonymous',
  extraInputs: [named],
  handler: (_, context) => ({ jsonBody: context.extraInputs.get(named) }),
});
