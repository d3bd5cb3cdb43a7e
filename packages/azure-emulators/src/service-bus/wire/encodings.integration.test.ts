import { afterEach, describe, expect, it } from 'vitest';
import { compoundItems, valueEnd } from '../../amqp/amqp-bytes.js';
import { splitMessage, readMapSection } from '../../amqp/message-sections.js';
import { absent, narrow, RawClient, symbolic, ubyte, wide, type Encoding } from '../../amqp/raw-client.test.fixture.js';
import { decodeValue } from '../../amqp/values.js';
import { runServiceBus, type RunningServiceBus } from '../running-service-bus.test.fixture.js';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const flagged = {
  name: 'flagged',
  rules: [{ name: 'yes', filter: { kind: 'sql', expression: 'flag = TRUE' } }],
} as const;

async function start(encoding: Encoding): Promise<{ running: RunningServiceBus; client: RawClient }> {
  const running = await runServiceBus({
    queues: [{ name: 'orders' }, { name: 'jobs', requiresSession: true }],
    topics: [{ name: 'news', subscriptions: [flagged] }],
  });
  cleanups.push(() => running.stop());
  const port = Number(/localhost:(\d+)/.exec(running.connectionString)?.[1]);
  const client = await RawClient.open(port, encoding);
  cleanups.push(() => client.close());
  return { running, client };
}

/** Role true: the client receives. */
function attach(
  client: RawClient,
  e: Encoding,
  options: { name: string; handle: number; role: boolean; address: string },
): void {
  const { name, handle, role, address } = options;
  const source = e.described(0x28, 'amqp:source:list', e.list(role ? e.string(address) : absent));
  const target = e.described(0x29, 'amqp:target:list', e.list(role ? absent : e.string(address)));
  const settleModes = role ? [ubyte(0), ubyte(1)] : [ubyte(0), ubyte(0)];
  const initialCount = role ? absent : e.uint(0);
  const link = [e.string(name), e.uint(handle), e.boolean(role), ...settleModes, source, target];
  client.send('attach', [...link, absent, e.boolean(false), initialCount]);
}

function flow(client: RawClient, e: Encoding, handle: number, credit: number, drain: boolean): void {
  const session = [e.uint(0), e.uint(1000), e.uint(0), e.uint(1000)];
  client.send('flow', [
    ...session,
    e.uint(handle),
    e.uint(0),
    e.uint(credit),
    e.uint(0),
    e.boolean(drain),
    e.boolean(false),
  ]);
}

function transfer(
  client: RawClient,
  e: Encoding,
  options: { handle: number; id: number; more?: boolean },
  payload: Buffer,
): void {
  const { handle, id, more = false } = options;
  const tag = e.binary(Buffer.from([id]));
  client.send('transfer', [e.uint(handle), e.uint(id), tag, e.uint(0), e.boolean(false), e.boolean(more)], payload);
}

function message(e: Encoding, properties: readonly Buffer[], text: string): Buffer {
  return Buffer.concat([
    e.described(0x74, 'amqp:application-properties:map', e.map(...properties)),
    e.described(0x77, 'amqp:value:*', e.string(text)),
  ]);
}

describe.each([
  ['the smallest encodings', narrow],
  ['the largest encodings', wide],
  ['symbolic descriptors', symbolic],
])('a client that writes %s', (_name, e) => {
  it('attaches by a URL, which the reply repeats, with all fields of the frame', async () => {
    const { client } = await start(e);
    const address = 'amqps://localhost:5672/orders';
    attach(client, e, { name: 'a', handle: 0, role: false, address });
    const reply = await client.next('attach');
    expect(reply.fields).toHaveLength(14);
    const target = reply.fields[6] ?? absent;
    const fields = compoundItems(target, valueEnd(target, 1)) ?? [];
    expect(decodeValue(fields[0] ?? absent)).toBe(address);
    expect(fields).toHaveLength(7);
  });

  it('sends a message in two transfers, and has its credit drained', async () => {
    const { client } = await start(e);
    attach(client, e, { name: 'a', handle: 0, role: false, address: '/orders' });
    await client.next('flow');
    const whole = message(e, [], 'in two parts');
    transfer(client, e, { handle: 0, id: 0, more: true }, whole.subarray(0, 10));
    transfer(client, e, { handle: 0, id: 0 }, whole.subarray(10));
    expect((await client.next('disposition')).field(4)).toEqual([]); // accepted
    attach(client, e, { name: 'a', handle: 1, role: true, address: 'orders' });
    flow(client, e, 1, 10, true);
    const { payload, fields } = await client.next('transfer');
    expect(decodeValue(splitMessage(payload).body)).toBe('in two parts');
    expect(fields).toHaveLength(11);
    const drained = await client.next('flow');
    expect([drained.field(6), drained.field(8)]).toEqual([0, true]);
  });

  it('defers a message, and gets it back with its lock token in an annotation', async () => {
    const { running, client } = await start(e);
    await running.client.createSender('orders').sendMessages({ body: 'later' });
    attach(client, e, { name: 'r', handle: 0, role: true, address: 'orders' });
    flow(client, e, 0, 1, false);
    const delivery = await client.next('transfer');
    const modified = e.described(0x27, 'amqp:modified:list', e.list(e.boolean(false), e.boolean(true)));
    const id = e.uint(Number(delivery.field(1)));
    client.send('disposition', [e.boolean(true), id, id, e.boolean(false), modified]);
    expect((await client.next('disposition')).field(3)).toBe(true);
    const [peeked] = await running.client.createReceiver('orders').peekMessages(1);
    expect(peeked?.state).toBe('deferred');
    attach(client, e, { name: 'm', handle: 1, role: false, address: 'orders/$management' });
    attach(client, e, { name: 'm', handle: 2, role: true, address: 'orders/$management' });
    flow(client, e, 2, 1, false);
    const request = Buffer.concat([
      e.described(0x73, 'amqp:properties:list', e.list(e.string('q'), absent, absent, absent, e.string('m'))),
      e.described(
        0x74,
        'amqp:application-properties:map',
        e.map(e.string('operation'), e.string('com.microsoft:receive-by-sequence-number')),
      ),
      e.described(
        0x77,
        'amqp:value:*',
        e.map(
          e.string('sequence-numbers'),
          Buffer.from([0xe0, 3, 1, 0x55, 1]),
          e.string('receiver-settle-mode'),
          e.uint(1),
        ),
      ),
    ]);
    transfer(client, e, { handle: 1, id: 0 }, request);
    const reply = decodeValue(splitMessage((await client.next('transfer')).payload).body) as {
      messages: [{ 'lock-token': Buffer; message: Buffer }];
    };
    const [received] = reply.messages;
    const token = readMapSection(splitMessage(received.message).deliveryAnnotations).get('x-opt-lock-token');
    expect(decodeValue(token ?? absent)).toEqual(received['lock-token']);
  });

  it('matches a filter by a boolean property', async () => {
    const { running, client } = await start(e);
    attach(client, e, { name: 's', handle: 0, role: false, address: 'news' });
    await client.next('flow');
    transfer(client, e, { handle: 0, id: 0 }, message(e, [e.string('flag'), e.boolean(false)], 'no'));
    transfer(client, e, { handle: 0, id: 1 }, message(e, [e.string('flag'), e.boolean(true)], 'yes'));
    const receiver = running.client.createReceiver('news', 'flagged');
    const [first] = await receiver.receiveMessages(2, { maxWaitTimeInMs: 10_000 });
    expect(first).toMatchObject({ body: 'yes', applicationProperties: { flag: true } });
    expect(await receiver.peekMessages(10)).toHaveLength(1);
  });

  it('is told why a message is refused, in all three fields of the error', async () => {
    const { client } = await start(e);
    attach(client, e, { name: 's', handle: 0, role: false, address: 'jobs' });
    await client.next('flow');
    transfer(client, e, { handle: 0, id: 0 }, message(e, [], 'no session'));
    const state = (await client.next('disposition')).fields[4] ?? absent;
    const [error = absent] = compoundItems(state, valueEnd(state, 1)) ?? [];
    const fields = compoundItems(error, valueEnd(error, 1)) ?? [];
    expect(fields.map((field) => decodeValue(field))).toEqual(['amqp:not-allowed', expect.any(String), null]);
    attach(client, e, { name: 'r', handle: 1, role: true, address: 'nowhere/$DeadLetterQueue' });
    const detached = (await client.next('detach')).fields[2] ?? absent;
    expect(compoundItems(detached, valueEnd(detached, 1))).toHaveLength(3);
  });

  it('gets its session filter back with the descriptor that it has given it', async () => {
    const { running, client } = await start(e);
    await running.client.createSender('jobs').sendMessages({ body: 'x', sessionId: 's' });
    const filterCode = Buffer.from([0x00, 0x80, 0, 0, 0, 0x13, 0x70, 0, 0, 0x0c]);
    const filter = e.map(e.symbol('com.microsoft:session-filter'), Buffer.concat([filterCode, absent]));
    const source = [e.string('jobs'), absent, absent, absent, absent, absent, absent, filter];
    client.send('attach', [
      e.string('session'),
      e.uint(0),
      e.boolean(true),
      ubyte(0),
      ubyte(1),
      e.described(0x28, 'amqp:source:list', e.list(...source)),
      e.described(0x29, 'amqp:target:list', e.list()),
    ]);
    const granted = (await client.next('attach')).fields[5] ?? absent;
    const filters = (compoundItems(granted, valueEnd(granted, 1)) ?? [])[7] ?? absent;
    const [, value = absent] = compoundItems(filters, 0) ?? [];
    expect(value.subarray(0, filterCode.length).equals(filterCode)).toBe(true);
    expect(decodeValue(value)).toBe('s');
  });

  it('takes a link over that it attaches again, and keeps its connection', async () => {
    const { running, client } = await start(e);
    attach(client, e, { name: 'same', handle: 0, role: true, address: 'orders' });
    await client.next('attach');
    attach(client, e, { name: 'same', handle: 1, role: true, address: 'orders' });
    const detached = (await client.next('detach')).fields[2] ?? absent;
    const [condition = absent] = compoundItems(detached, valueEnd(detached, 1)) ?? [];
    expect(decodeValue(condition)).toBe('amqp:link:stolen');
    flow(client, e, 1, 1, false);
    await running.client.createSender('orders').sendMessages({ body: 'x' });
    expect((await client.next('transfer')).payload.length).toBeGreaterThan(0);
  });

  it('attaches a link again in the same packet in which it detaches it', async () => {
    const { client } = await start(e);
    attach(client, e, { name: 'same', handle: 0, role: false, address: 'orders' });
    await client.next('attach');
    client.send('detach', [e.uint(0), e.boolean(true)]);
    attach(client, e, { name: 'same', handle: 0, role: false, address: 'orders' });
    await client.next('detach');
    expect((await client.next('attach')).field(0)).toBe('same');
  });
});
