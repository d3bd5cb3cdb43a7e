import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret, systemClock } from '@drover/service-kit';
import { seededRandomness } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventGridOutput, eventGridTopic } from './event-grid-output.js';
import type { EventGridObservation } from './observations.js';

const never = new AbortController().signal;
const order = { subject: 'orders/7', eventType: 'Order.Created', data: { total: 5 } };
const cloud = { specversion: '1.0', source: '/shop', type: 'order.created', data: 1 };

let server: Server;
let uri: string;
const requests: { readonly headers: IncomingHttpHeaders; readonly events: readonly Record<string, unknown>[] }[] = [];
let statuses: number[] = [];

beforeEach(async () => {
  requests.length = 0;
  statuses = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const events = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>[];
      requests.push({ headers: request.headers, events });
      response.writeHead(statuses.shift() ?? 200).end('as asked');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/events?sig=hidden`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function open(at = uri) {
  const seen: EventGridObservation[] = [];
  const output = new EventGridOutput({
    functionName: 'notify',
    topic: { uri: at, key: new Secret('topic-key') },
    clock: systemClock,
    randomness: seededRandomness(1),
    observe: (o) => void seen.push(o),
  });
  const send = (...events: readonly unknown[]) =>
    output.send(
      events.map((event) => ({ body: typeof event === 'string' ? event : JSON.stringify(event) })),
      never,
    );
  return { send, seen };
}

describe('an Event Grid output', () => {
  it('sends all events in one request with the key, and completes them', async () => {
    const { send, seen } = open();
    await send(order, { ...order, id: 'mine', eventTime: '2026-01-01T00:00:00Z', dataVersion: '2' });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.headers).toMatchObject({ 'aeg-sas-key': 'topic-key', 'content-type': 'application/json' });
    const [first, second] = requests[0]?.events ?? [];
    expect(first).toEqual({
      ...order,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      eventTime: expect.stringMatching(/^\d{4}-.*Z$/),
      dataVersion: '1.0',
    });
    expect(second).toMatchObject({ id: 'mine', eventTime: '2026-01-01T00:00:00Z', dataVersion: '2' });
    expect(seen).toEqual([{ kind: 'event-grid.sent', functionName: 'notify', events: 2 }]);
  });

  it('sends CloudEvents as such', async () => {
    await open().send(cloud, order);
    expect(requests.map(({ headers, events }) => [headers['content-type'], events.length])).toEqual([
      ['application/cloudevents-batch+json', 1],
      ['application/json', 1],
    ]);
    expect(requests[0]?.events[0]).toMatchObject({ ...cloud, id: expect.any(String), time: expect.any(String) });
  });

  it('splits what is too large for one request, and refuses one event that is', async () => {
    const { send } = open();
    await send(...[1, 2, 3].map((n) => ({ ...order, data: String(n).repeat(400_000) })));
    expect(requests.map(({ events }) => events.length)).toEqual([2, 1]);
    await expect(send({ ...order, data: 'x'.repeat(1_000_000) })).rejects.toMatchObject({
      code: 'EVENT_GRID_EVENT_UNSENDABLE',
    });
  });

  it.each([
    ['no json', 'is not a JSON object'],
    ['[1]', 'is not a JSON object'],
    ['{"subject":"s"}', 'has no eventType'],
  ])('refuses %s before it sends anything', async (bad, problem) => {
    await expect(open().send(order, bad)).rejects.toThrow(problem);
    expect(requests).toEqual([]);
  });

  it('tries again what may pass, and not what is refused; neither key nor signature is in the error', async () => {
    statuses = [503, 429];
    await open().send(order);
    expect(requests).toHaveLength(3);
    statuses = [401];
    const refused = open().send(order);
    await expect(refused).rejects.toMatchObject({
      code: 'EVENT_GRID_UNAVAILABLE',
      message: expect.stringContaining('it answered 401'),
    });
    await expect(refused).rejects.not.toThrow(/hidden|topic-key/);
    expect(requests).toHaveLength(4);
  });
});

describe('the topic of an Event Grid output', () => {
  const settings = { TopicUri: 'https://shop.westeurope-1.eventgrid.azure.net/api/events', TOPICKEY: 'k' };
  const read = (binding: object, given: Record<string, string> = settings) =>
    eventGridTopic({ functionName: 'notify', binding, settings: given });

  it('is in the settings that the binding names', () => {
    const { uri: found, key } = read({ topicEndpointUri: 'TopicUri', topicKeySetting: 'TopicKey' });
    expect([found, key.reveal()]).toEqual([settings.TopicUri, 'k']);
  });

  it.each([
    [{}, settings, 'needs topicEndpointUri: the name of a setting'],
    [
      { topicEndpointUri: 5, topicKeySetting: 'TopicKey' },
      settings,
      'topicEndpointUri must be the name of a setting, not 5',
    ],
    [
      { topicEndpointUri: 'Other', topicKeySetting: 'TopicKey' },
      settings,
      'the connection setting Other does not exist',
    ],
    [{ topicEndpointUri: 'TopicKey', topicKeySetting: 'TopicKey' }, settings, 'TopicKey is not the URL of a topic'],
  ])('is refused: %j', (binding, given, problem) => {
    expect(() => read(binding, given)).toThrow(problem);
  });
});
