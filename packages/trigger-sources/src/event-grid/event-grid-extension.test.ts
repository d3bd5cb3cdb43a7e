import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { BindingExtension, ExtensionParts, WebhookAnswer } from '../binding-extension.js';
import { LockedMessages } from '../locked-messages.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { triggerLifecycleContract } from '../testing/trigger-lifecycle-contract.js';
import type { Deliver, Delivery, Settlement, TriggerListener } from '../trigger-source.js';
import { eventGridExtension } from './event-grid-extension.js';
import type { EventGridObservation } from './observations.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };

class World {
  readonly clock = new FakeClock();
  readonly seen: EventGridObservation[] = [];
  readonly delivered: Delivery[] = [];
  readonly extension: BindingExtension;
  settle: (delivery: Delivery) => Settlement = () => complete;

  constructor() {
    const parts: ExtensionParts<object, EventGridObservation> = {
      application: 'default/app',
      settings: {},
      host: {},
      cores: 1,
      clock: this.clock,
      randomness: seededRandomness(1),
      observe: (o) => void this.seen.push(o),
      wakeups: new SourceWakeups(),
      lockedMessages: new LockedMessages(),
      store: new MemoryTriggerStore(),
    };
    this.extension = eventGridExtension.create(parts);
  }

  listener(options: object = {}, deliver?: Deliver): TriggerListener {
    const prepared = this.extension.prepare?.({
      functionName: 'OnEvent',
      type: 'eventGridTrigger',
      options: { name: 'e', ...options },
    });
    if (!prepared) throw new Error('it has no trigger');
    return prepared.listen(
      deliver ??
        (async (delivery) => {
          this.delivered.push(delivery);
          return this.settle(delivery);
        }),
    );
  }

  get data(): unknown[] {
    return this.delivered.map(({ data }) => JSON.parse(String(data)));
  }

  send(body: unknown, headers: Record<string, string> = {}, method = 'POST'): Promise<WebhookAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const served = this.extension.webhook?.serve('onevent', { method, headers, body: Buffer.from(text) }, never);
    return served ?? Promise.reject(new Error('it has no webhook'));
  }
}

async function open(options: object = {}): Promise<World> {
  const world = new World();
  await world.listener(options).start(never);
  return world;
}

const notification = { 'aeg-event-type': 'Notification', 'content-type': 'application/json; charset=utf-8' };
const event = (id: string) => ({
  id,
  topic: '/subscriptions/1',
  subject: 'orders/7',
  eventType: 'Order.Created',
  eventTime: '2026-01-01T00:00:00Z',
  data: { total: 5 },
  dataVersion: '1.0',
});
const cloudEvent = (id: string) => ({
  specversion: '1.0',
  id,
  source: '/shop',
  type: 'order.created',
  data: { total: 5 },
});

describe('the webhook of an Event Grid trigger', () => {
  it('belongs to the functions that have the trigger, named in any case', async () => {
    const { extension } = await open();
    expect(['OnEvent', 'ONEVENT', 'other', ''].map((name) => extension.webhook?.has(name))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('answers the handshake of Event Grid with the code', async () => {
    const world = await open();
    const validation = {
      id: '1',
      eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
      data: { validationCode: '512D38B6' },
    };
    const answer = await world.send([validation], { ...notification, 'aeg-event-type': 'SubscriptionValidation' });
    expect(answer).toEqual({ status: 200, body: { validationResponse: '512D38B6' } });
    expect(world.delivered).toEqual([]);
    expect((await world.send([{ data: {} }], { 'aeg-event-type': 'SubscriptionValidation' })).status).toBe(400);
  });

  it('answers the handshake of CloudEvents with the origin', async () => {
    const world = await open();
    const answer = await world.send('', { 'webhook-request-origin': 'eventgrid.azure.net' }, 'OPTIONS');
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'webhook-allowed-origin': 'eventgrid.azure.net', 'webhook-allowed-rate': '*' },
    });
    expect((await world.send('', {}, 'OPTIONS')).status).toBe(400);
  });

  it('delivers each event of a request by itself', async () => {
    const world = await open();
    expect(await world.send([event('1'), event('2')], notification)).toEqual({ status: 202 });
    expect(world.data).toEqual([event('1'), event('2')]);
    expect(world.delivered.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 1]);
  });

  it('delivers all events of a request at once with the cardinality many', async () => {
    const world = await open({ cardinality: 'Many' });
    expect((await world.send([event('1'), event('2')], notification)).status).toBe(202);
    expect((await world.send(cloudEvent('3'), { 'content-type': 'application/cloudevents+json' })).status).toBe(202);
    expect(world.data).toEqual([[event('1'), event('2')], [cloudEvent('3')]]);
  });

  it('takes CloudEvents in structured and batched mode, also from senders other than Event Grid', async () => {
    const world = await open();
    const traced = { ...cloudEvent('1'), traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    expect((await world.send(traced, { 'content-type': 'application/cloudevents+json; charset=utf-8' })).status).toBe(
      202,
    );
    const batch = [cloudEvent('2'), cloudEvent('3')];
    expect((await world.send(batch, { 'content-type': 'application/cloudevents-batch+json' })).status).toBe(202);
    expect(
      (await world.send(batch, { ...notification, 'content-type': 'application/cloudevents-batch+json' })).status,
    ).toBe(202);
    expect(world.data).toEqual([traced, ...batch, ...batch]);
    expect(world.delivered[0]?.traceparent).toBe(traced.traceparent);
  });

  it('takes CloudEvents in binary mode: JSON, text, bytes and nothing', async () => {
    const world = await open();
    const attributes = {
      'ce-specversion': '1.0',
      'ce-id': 'a',
      'ce-source': '/shop%20one',
      'ce-type': 't',
      'ce-myext': 'x',
    };
    const base = { specversion: '1.0', id: 'a', source: '/shop one', type: 't', myext: 'x' };
    const send = (body: string, type: string) =>
      world.send(body, { ...attributes, ...(type && { 'content-type': type }) });
    for (const [body, type] of [
      ['{"total":5}', 'application/json'],
      ['{"total":5}', ''],
      ['{"total":5}', 'application/vnd.shop+json'],
      ['hello', 'text/plain'],
      ['bytes', 'application/octet-stream'],
      ['', 'application/json'],
    ] as const)
      expect((await send(body, type)).status).toBe(202);
    expect(world.data).toEqual([
      { ...base, datacontenttype: 'application/json', data: { total: 5 } },
      { ...base, data: { total: 5 } },
      { ...base, datacontenttype: 'application/vnd.shop+json', data: { total: 5 } },
      { ...base, datacontenttype: 'text/plain', data: 'hello' },
      { ...base, datacontenttype: 'application/octet-stream', data_base64: 'Ynl0ZXM=' },
      { ...base, datacontenttype: 'application/json' },
    ]);
    expect((await send('no json', 'application/json')).status).toBe(400);
  });

  it.each([
    ['POST', { 'content-type': 'application/json' }, '[{}]', 'has no aeg-event-type header'],
    ['POST', { 'aeg-event-type': 'Notification' }, 'no json', 'not JSON'],
    ['POST', { 'aeg-event-type': 'Notification' }, '', 'not JSON'],
    ['POST', { 'aeg-event-type': 'Notification' }, '[1]', 'no event'],
    ['POST', { 'aeg-event-type': 'Notification' }, '[]', 'no event'],
    ['POST', { 'aeg-event-type': 'Something' }, '[{}]', 'unknown aeg-event-type'],
    ['POST', { 'content-type': 'application/cloudevents+json' }, '{"specversion":"0.3"}', 'Send version 1.0'],
    ['POST', { 'content-type': 'application/cloudevents+json' }, '{"specversion":"1.0","id":"1"}', 'without source'],
    ['POST', { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/s' }, '{}', 'without type'],
    ['GET', { 'aeg-event-type': 'Notification' }, '', 'is no POST request'],
  ])('refuses %s %j %s', async (method, headers, body, problem) => {
    const world = await open();
    const answer = await world.send(body, headers, method);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(problem) } });
    expect(world.delivered).toEqual([]);
  });

  it('lets the sender send again what failed, and not what was rejected', async () => {
    const world = await open();
    world.settle = ({ data }) => (String(data).includes('"bad"') ? { kind: 'abandon' } : complete);
    expect((await world.send([event('good'), event('bad')], notification)).status).toBe(500);
    expect((await world.send([event('bad')], { ...notification, 'aeg-delivery-count': '3' })).status).toBe(500);
    expect(world.delivered.at(-1)?.deliveryCount).toBe(4);
    world.settle = () => ({ kind: 'deadLetter', reason: 'never' });
    expect((await world.send([event('hopeless')], notification)).status).toBe(400);
    expect(world.seen.filter(({ kind }) => kind === 'event-grid.failed')).toHaveLength(3);
  });

  it('answers an unsubscription', async () => {
    const world = await open();
    expect(await world.send('', { 'aeg-event-type': 'Unsubscribe' })).toEqual({ status: 202 });
  });

  it('holds requests during a pause, but not longer than the sender waits', async () => {
    const world = new World();
    const listener = world.listener();
    await listener.start(never);
    listener.pause();
    const answer = world.send([event('1')], notification);
    await world.clock.advance(25_000);
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
    expect(world.delivered).toEqual([]);
    await listener.stop();
    expect((await world.send([event('1')], notification)).status).toBe(503);
  });

  it('says that it cannot measure', async () => {
    await expect(new World().listener().measure(never)).rejects.toMatchObject({ code: 'TRIGGER_BACKLOG_UNKNOWN' });
  });

  it('refuses an unknown cardinality, and names unknown keys', () => {
    const { extension } = new World();
    const prepare = (options: object) =>
      extension.prepare?.({ functionName: 'OnEvent', type: 'eventGridTrigger', options: { ...options } });
    expect(() => prepare({ cardinality: 'few' })).toThrow('cardinality must be "one" or "many"');
    expect(prepare({ name: 'e', typo: 1 })?.unknownKeys).toEqual(['typo']);
  });
});

triggerLifecycleContract('event grid', async () => {
  const world = new World();
  return {
    listener: (deliver) => world.listener({}, deliver),
    happen: async () => {
      void world.send([event('1')], notification);
      await world.clock.advance(0);
    },
    close: async () => undefined,
  };
});
