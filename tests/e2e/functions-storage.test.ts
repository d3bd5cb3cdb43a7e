import { BlobServiceClient } from '@azure/storage-blob';
import { QueueClient } from '@azure/storage-queue';
import { eventually } from '@drover/testkit';
import { startAzurite, type Azurite } from '@drover/trigger-sources/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, type Runtime } from '../support/functions.js';

describe('drover-runtime with an app that works on blobs and tables', () => {
  let azurite: Azurite;
  let runtime: Runtime;
  let blobs: BlobServiceClient;

  beforeAll(async () => {
    azurite = await startAzurite('all', ['--skipApiVersionCheck']); // the SDK of this test is newer
    blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
    await Promise.all(
      ['incoming', 'incoming-v3', 'broken', 'slow', 'events'].map((name) => blobs.createContainer(name)),
    );
    runtime = await startRuntime({
      apps: [app('storage'), app('storage-v3')],
      env: { AzureWebJobsStorage: azurite.connectionString, Shop: azurite.connectionString, SUFFIX: 'in' },
    });
  });
  afterAll(async () => {
    await runtime.stop();
    await azurite.stop();
  });

  const put = (container: string, name: string, text: string) =>
    blobs.getContainerClient(container).getBlockBlobClient(name).upload(text, Buffer.byteLength(text));
  const said = (text: string): string[] => runtime.log.flatMap(({ msg }) => (msg.includes(text) ? [msg] : []));
  const json = async (address: string, init?: RequestInit): Promise<unknown> => {
    const response = await runtime.call(address, init);
    expect(response.status).toBe(200);
    return await response.json();
  };
  const post = (address: string, body: unknown) =>
    runtime.call(address, { method: 'POST', body: JSON.stringify(body) });

  it('runs a blob through trigger, output and the next trigger, and gives it to an HTTP function', async () => {
    await put('incoming', 'a.b.txt', 'hello');
    await eventually(() => expect(said('announce a.b-copy.txt: hello')).toHaveLength(1));
    const [line = ''] = said('copy {');
    expect(JSON.parse(line.slice(line.indexOf('{')))).toEqual({
      isBuffer: true,
      name: 'a.b',
      ext: 'txt',
      blobTrigger: 'incoming/a.b.txt',
      uri: `${azurite.urls.blob}/devstoreaccount1/incoming/a.b.txt`,
      metadata: {},
      length: 5,
    });
    expect(await json('/api/photo/a.b-copy.txt')).toEqual({ type: 'buffer', text: 'hello' });
    expect(await json('/api/photo/none.txt')).toEqual({ type: 'undefined' });
  });

  it('runs again for a new version, and once for each', async () => {
    await put('incoming', 'twice.txt', 'one');
    await eventually(() => expect(said('announce twice-copy.txt: one')).toHaveLength(1));
    await put('incoming', 'twice.txt', 'two');
    await eventually(() => expect(said('announce twice-copy.txt: two')).toHaveLength(1));
    expect(said('announce twice-copy.txt')).toHaveLength(2);
  });

  it('reports a blob that fails too often to the poison queue, in the shape of Azure', async () => {
    await put('broken', 'bad.bin', 'x');
    const poison = new QueueClient(azurite.connectionString, 'webjobs-blobtrigger-poison');
    const message = await eventually(async () => {
      const received = await poison.receiveMessages().catch(() => undefined); // missing at first
      return received?.receivedMessageItems[0]?.messageText ?? false;
    });
    expect(JSON.parse(Buffer.from(String(message), 'base64').toString())).toEqual({
      Type: 'BlobTrigger',
      FunctionId: 'Host.Functions.fail',
      BlobType: 'BlockBlob',
      ContainerName: 'broken',
      BlobName: 'bad.bin',
      ETag: expect.stringMatching(/^"0x[0-9A-F]+"$/),
    });
    expect(said('fail bad.bin')).toHaveLength(2);
    await eventually(() => expect(said('blob broken/bad.bin is poison for fail')).toHaveLength(1));
  });

  it('writes an array as one blob, under a name of its own', async () => {
    expect((await post('/api/upload', [1, { a: 2 }])).status).toBe(201);
    const names: string[] = [];
    for await (const { name } of blobs.getContainerClient('uploads').listBlobsFlat()) names.push(name);
    expect(names).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\.json$/)]);
    const content = await blobs
      .getContainerClient('uploads')
      .getBlobClient(names[0] ?? '')
      .downloadToBuffer();
    expect(content.toString()).toBe('[1,{"a":2}]');
  });

  it('adds entities, reads one by its keys and some by a filter, in the shape of Azure', async () => {
    const people = [
      { PartitionKey: 'Bern', RowKey: '1', Name: 'Ann', Age: 30 },
      { PartitionKey: 'Bern', RowKey: '2', Name: "O'Neil" },
      { PartitionKey: 'Basel', RowKey: '1', Name: 'Ann' },
    ];
    expect((await post('/api/people', people)).status).toBe(201);
    expect(await json('/api/people/Bern/1')).toEqual({ person: people[0] });
    expect(await json('/api/people/Bern/9')).toEqual({ person: 'none' });
    expect(await json('/api/named/Ann')).toEqual([people[0]]);
    expect(await json("/api/named/O'Neil")).toEqual([people[1]]);
    expect(await json("/api/named/' or Name ne '")).toEqual([]);
    const again = await post('/api/people', people[0]);
    expect(again.status).toBe(500);
    expect(said('entity Bern/1 exists already')).not.toEqual([]);
  });

  it('serves the older programming model: trigger, return value, table input and output', async () => {
    await put('incoming-v3', 'in/a.txt', 'hello');
    await eventually(() => expect(said('copyV3 incoming-v3/in/a.txt a.txt true hello')).toHaveLength(1));
    const copied = blobs.getContainerClient('copies-v3').getBlobClient('a.txt');
    await eventually(async () => (await copied.downloadToBuffer()).toString() === 'hello');
    expect((await post('/api/rows', [{ RowKey: '1', Name: 'Ann' }, { RowKey: '2' }])).status).toBe(201);
    expect(await json('/api/rows/1')).toEqual([{ PartitionKey: 'fixed', RowKey: '1', Name: 'Ann' }]);
  });

  it('runs a trigger with the source EventGrid by its scans and by events, and gives it what a client is made from', async () => {
    const client = (name: string): string =>
      `subscribed ${JSON.stringify({ Connection: 'Shop', ContainerName: 'events', BlobName: name })}`;
    await put('events', 'scanned.png', 'x');
    await eventually(() => expect(said(client('scanned.png'))).toHaveLength(1));
    await put('events', 'pushed.png', 'x');
    const eventType = 'Microsoft.Storage.BlobCreated';
    const subject = '/blobServices/default/containers/events/blobs/pushed.png';
    const pushed = await runtime.call('/runtime/webhooks/blobs?functionName=Host.Functions.subscribed', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'aeg-event-type': 'Notification' },
      body: JSON.stringify([{ id: '1', eventType, subject, eventTime: new Date().toISOString(), data: {} }]),
    });
    expect(pushed.status).toBe(202);
    await eventually(() => expect(said(client('pushed.png'))).toHaveLength(1));
  });
});
