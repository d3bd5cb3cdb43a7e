import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBusEmulator, type BusEmulator } from '../testing/bus-emulator.js';
import type { Delivery, Settlement } from '../trigger-source.js';
import { BusBench, recording } from './bus-bench.test.fixture.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const queues = Array.from({ length: 30 }, (_, n) => `queue-${n}`);
const sessionQueues = Array.from({ length: 8 }, (_, n) => `ordered-${n}`);
let emulator: BusEmulator;
beforeAll(async () => {
  const receiver = { lockDurationMs: 60_000, maxDeliveryCount: 4 };
  emulator = await startBusEmulator({
    entities: {
      queues: [
        ...queues.map((name) => ({ name, ...receiver })),
        ...sessionQueues.map((name) => ({ name, ...receiver, requiresSession: true })),
      ],
    },
  });
});
afterAll(() => emulator.stop());

const benches: BusBench[] = [];
let [nextQueue, nextSessionQueue] = [0, 0];
const open = (binding: Readonly<Record<string, unknown>> = {}): BusBench => {
  const bench = new BusBench(emulator.connectionString, { queueName: queues[nextQueue++] ?? '', ...binding });
  benches.push(bench);
  return bench;
};
const openSessions = (binding: Readonly<Record<string, unknown>> = {}): BusBench =>
  open({ queueName: sessionQueues[nextSessionQueue++] ?? '', isSessionsEnabled: true, ...binding });
afterEach(async () => {
  await Promise.all(benches.splice(0).map((bench) => bench.close()));
});

const tokenOf = ({ metadata }: Delivery): string => String(metadata['LockToken']);
const fail: Settlement = { kind: 'abandon', byFunction: true };

describe('a message of Service Bus', () => {
  it('comes with the properties that its sender gave it', async () => {
    const bench = open();
    await bench.sendBare({
      body: Buffer.from('{"id":5}'),
      messageId: 'm-1',
      correlationId: 'c-1',
      subject: 'order',
      contentType: 'application/json',
      to: 'shop',
      replyTo: 'answers',
      timeToLive: 60_000,
      applicationProperties: { tries: 3, urgent: true },
    });
    const { seen, deliver } = recording();
    await bench.listen(deliver);
    await eventually(() => seen.length === 1);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|\+00:00)$/);
    expect(seen[0]).toEqual({
      data: '{"id":5}',
      id: expect.stringMatching(/^sequence number \d+$/),
      metadata: {
        MessageId: 'm-1',
        SequenceNumber: expect.any(Number),
        EnqueuedSequenceNumber: expect.any(Number),
        DeliveryCount: 1,
        EnqueuedTimeUtc: time,
        ExpiresAtUtc: time,
        LockToken: expect.stringMatching(/^[0-9a-f-]{36}$/),
        LockedUntil: time,
        ContentType: 'application/json',
        CorrelationId: 'c-1',
        Subject: 'order',
        Label: 'order',
        To: 'shop',
        ReplyTo: 'answers',
        TimeToLive: '00:01:00',
        State: 0,
        ApplicationProperties: { tries: 3, urgent: true },
        UserProperties: { tries: 3, urgent: true },
      },
      deliveryCount: 1,
      traceparent: undefined,
    });
  });

  it('runs beside others with the same message id, each once', async () => {
    const bench = open();
    await bench.sendBare(...['a', 'b', 'c'].map((body) => ({ body: Buffer.from(body), messageId: 'same' })));
    const { seen, deliver } = recording();
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    expect(seen.map(({ data }) => String(data)).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('is dead-lettered with the reason', async () => {
    const bench = open();
    await bench.send('bad');
    await bench.listen(async () => ({ kind: 'deadLetter', reason: 'no such order', byFunction: true }));
    await eventually(async () =>
      expect(await bench.deadLetters()).toMatchObject([
        { body: Buffer.from('bad'), deadLetterReason: 'no such order' },
      ]),
    );
    expect(bench.kinds('service-bus.dead-lettered')).toMatchObject([{ reason: 'no such order', messages: 1 }]);
  });

  it('of a dead-letter queue is received there, and returns slowly when it fails', async () => {
    const bench = open();
    const queueName = `${bench.path}/$DeadLetterQueue`;
    await bench.send('bad', 'worse');
    await bench.listen(async () => ({ kind: 'deadLetter', reason: 'wrong', byFunction: true }));
    await eventually(() => bench.count('service-bus.dead-lettered') === 2);
    const letters = open({ queueName });
    const { seen, deliver } = recording(({ data }) => (data === 'bad' ? complete : fail));
    await letters.listen(deliver);
    await eventually(() => expect(seen.map(({ data }) => String(data)).toSorted()).toEqual(['bad', 'worse']));
    expect(seen[0]?.metadata).toMatchObject({ DeadLetterReason: 'wrong', DeadLetterSource: bench.path });
    await eventually(() => letters.count('service-bus.completed') === 1);
    expect(seen).toHaveLength(2);
  });

  it('waits for its redelivery without delaying its neighbours, and returns at once when the listener stops', async () => {
    const bench = open({ maxConcurrentCalls: 1 });
    const good = Array.from({ length: 20 }, (_, n) => `good ${n}`);
    await bench.send('bad', ...good);
    const { seen, deliver } = recording(({ data }) =>
      data === 'bad' ? { kind: 'abandon', delayMs: 3_600_000, byFunction: true } : complete,
    );
    const listener = await bench.listen(deliver);
    await eventually(() => bench.count('service-bus.completed') === 20);
    expect(seen.map(({ data }) => data)).toEqual(['bad', ...good]);
    await listener.stop();
    const again = recording();
    await bench.listen(again.deliver);
    await eventually(() => expect(again.seen).toMatchObject([{ data: 'bad', deliveryCount: 2 }]));
  });
});

describe('outcomes that differ', () => {
  it('are kept apart, although those of one turn are sent together', async () => {
    const bench = open({ maxConcurrentCalls: 60 });
    const bodies = Array.from({ length: 60 }, (_, n) => `${['keep', 'drop', 'fail'][n % 3]} ${n}`);
    await bench.send(...bodies);
    const held: { readonly data: string; readonly settle: (settlement: Settlement) => void }[] = [];
    await bench.listen(({ data, deliveryCount }) =>
      deliveryCount > 1
        ? Promise.resolve(complete)
        : new Promise((resolve) => held.push({ data: String(data), settle: resolve })),
    );
    await eventually(() => held.length === 60);
    for (const { data, settle } of held) {
      if (data.startsWith('keep')) settle(complete);
      else if (data.startsWith('drop')) settle({ kind: 'deadLetter', reason: data, byFunction: true });
      else settle(fail);
    }
    await eventually(async () => (await bench.remaining()) === 0);
    const letters = await bench.deadLetters();
    const dropped = bodies.filter((body) => body.startsWith('drop'));
    expect(letters.map(({ body }) => String(body)).toSorted()).toEqual(dropped.toSorted());
    expect(letters.every(({ body, deadLetterReason }) => deadLetterReason === String(body))).toBe(true);
    expect(bench.count('service-bus.redelivered')).toBe(20);
    expect(bench.count('service-bus.completed')).toBe(40);
  });
});

describe('a message that takes long', () => {
  it('does not stop the receiver: others pass by the thousand', async () => {
    const bench = open({ maxConcurrentCalls: 20 });
    const others = 4_000;
    let settle: (settlement: Settlement) => void = () => undefined;
    let done = 0;
    await bench.send('stuck', ...Array.from({ length: others }, (_, n) => String(n)));
    await bench.listen(({ data }) => {
      if (data === 'stuck') return new Promise((resolve) => (settle = resolve));
      done += 1;
      return Promise.resolve(complete);
    });
    await eventually(() => expect(done).toBe(others));
    expect(bench.kinds('service-bus.receiver-replaced')).toEqual([]);
    settle(complete);
    await eventually(async () => (await bench.remaining()) === 0);
  });
});

describe('concurrency', () => {
  it('is bounded by maxConcurrentCalls', async () => {
    const bench = open({ maxConcurrentCalls: 3 });
    await bench.send(...Array.from({ length: 30 }, (_, n) => String(n)));
    let [running, most] = [0, 0];
    await bench.listen(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return complete;
    });
    await eventually(async () => (await bench.remaining()) === 0);
    expect(most).toBe(3);
  });
});

describe('a function that settles its messages itself', () => {
  it('has the last word, and what it leaves is delivered again', async () => {
    const bench = open({ autoCompleteMessages: false });
    await bench.send('complete', 'abandon', 'dead', 'defer');
    const { seen, deliver } = recording(async (delivery) => {
      const message = bench.lockedMessages.message(tokenOf(delivery));
      if (delivery.data === 'complete' || delivery.deliveryCount > 1) await message.complete();
      else if (delivery.data === 'abandon') await message.abandon({ tries: 1 });
      else if (delivery.data === 'dead') await message.deadLetter({ reason: 'why', description: 'because' });
      else await message.defer();
      return complete;
    });
    await bench.listen(deliver);
    await eventually(() => bench.count('service-bus.settled-by-function') === 5);
    const again = seen.filter(({ deliveryCount }) => deliveryCount > 1);
    expect(again).toMatchObject([{ data: 'abandon', metadata: { ApplicationProperties: { tries: 1 } } }]);
    expect(await bench.deadLetters()).toMatchObject([
      { deadLetterReason: 'why', deadLetterErrorDescription: 'because' },
    ]);
    expect(await bench.peek()).toMatchObject([{ body: Buffer.from('defer'), state: 'deferred' }]);
    expect(bench.count('service-bus.left')).toBe(0);
  });

  it('may renew its lock, settle once, and not after the end', async () => {
    const bench = open();
    await bench.send('once');
    let token = '';
    const refusals: unknown[] = [];
    await bench.listen(async (delivery) => {
      token = tokenOf(delivery);
      const message = bench.lockedMessages.message(token);
      expect((await message.renew()).getTime()).toBeGreaterThan(Date.now());
      await message.complete();
      await message.abandon().catch((error: unknown) => refusals.push(error));
      return fail;
    });
    await eventually(async () => (await bench.remaining()) === 0);
    await eventually(() => expect(refusals).toMatchObject([{ code: 'SERVICE_BUS_LOCK_UNKNOWN' }]));
    await eventually(() => expect(() => bench.lockedMessages.message(token)).toThrow('is locked here'));
    expect(bench.count('service-bus.abandoned')).toBe(0);
  });

  it('is reported when it leaves a message unsettled', async () => {
    const bench = open({ autoCompleteMessages: false });
    await bench.send('forgotten');
    await bench.listen(async () => complete);
    await eventually(() => bench.count('service-bus.left') === 1);
    expect(await bench.remaining()).toBe(1);
  });
});

describe('a batch', () => {
  it('has messages up to the maximum, and all metadata as arrays', async () => {
    const bench = open({ cardinality: 'many', maxMessageBatchSize: 4 });
    await bench.send(...Array.from({ length: 10 }, (_, n) => `m${n}`));
    const { seen, deliver } = recording();
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    expect(seen.flatMap(({ data }) => data)).toEqual(Array.from({ length: 10 }, (_, n) => `m${n}`));
    expect(Math.max(...seen.map(({ data }) => data.length))).toBe(4);
    const size = seen[0]?.data.length ?? 0;
    expect(seen[0]?.metadata).toMatchObject({
      DeliveryCountArray: Array.from({ length: size }, () => 1),
      MessageIdArray: Array.from({ length: size }, () => expect.any(String)),
      ApplicationPropertiesArray: Array.from({ length: size }, () => ({})),
    });
    await eventually(() => expect(bench.count('service-bus.completed')).toBe(10));
  });

  it('waits for the minimum, and no longer than allowed', async () => {
    const bench = open({ cardinality: 'many', minMessageBatchSize: 3, maxBatchWaitTime: '00:00:00.700' });
    const { seen, deliver } = recording();
    await bench.listen(deliver);
    await bench.send('a', 'b');
    await bench.send('c');
    await eventually(() => seen.length === 1);
    expect(seen[0]?.data).toEqual(['a', 'b', 'c']);
    await bench.send('d');
    await eventually(() => expect(seen[1]?.data).toEqual(['d']));
  });

  it('that fails returns in smaller ones, until the cause is alone', async () => {
    const bench = open({ cardinality: 'many', maxMessageBatchSize: 8 });
    await bench.send('1', '2', '3', 'bad', '5', '6', '7', '8');
    const { seen, deliver } = recording(({ data }) => ((data as string[]).includes('bad') ? fail : complete));
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    expect((await bench.deadLetters()).map(({ body }) => String(body))).toEqual(['bad']);
    expect(seen.at(-1)?.data.length).toBeLessThanOrEqual(2);
    expect(bench.count('service-bus.completed')).toBe(7);
  });
});

describe('an output', () => {
  it('sends plain bodies and bytes, in batches', async () => {
    const bench = open();
    await bench.send(...Array.from({ length: 300 }, (_, n) => `${n}${'x'.repeat(5_000)}`), Buffer.from([255, 0]));
    expect(await bench.remaining()).toBe(301);
    expect((await bench.peek()).at(-1)).toMatchObject({
      body: Buffer.from([255, 0]),
      contentType: 'application/octet-stream',
    });
  });

  it('sends properties, sessions and scheduled messages', async () => {
    const bench = openSessions();
    const scheduledEnqueueTimeUtc = new Date(Date.now() + 3_600_000).toISOString();
    const message = { body: { id: 1 }, sessionId: 's', subject: 'x', applicationProperties: { n: 1 } };
    await bench.send(JSON.stringify({ $message: message }));
    await bench.send(JSON.stringify({ $message: { body: 'later', sessionId: 's', scheduledEnqueueTimeUtc } }));
    expect(await bench.peek()).toMatchObject([
      { body: Buffer.from('{"id":1}'), sessionId: 's', subject: 'x', applicationProperties: { n: 1 }, state: 'active' },
      { body: Buffer.from('later'), state: 'scheduled' },
    ]);
    await bench.send(JSON.stringify({ $message: { body: 'x', sessionId: 't' } }));
    await bench.send(JSON.stringify({ $message: { body: 'y', sessionId: 't' } }));
    const bounds = { maxUsefulWorkers: 2, targetPerWorker: 8 };
    expect(await bench.listener(async () => complete).measure(never)).toMatchObject({ waiting: 3, ...bounds });
  });

  it('says what the entity refuses', async () => {
    const bench = openSessions();
    await expect(bench.send('no session')).rejects.toMatchObject({ code: 'SERVICE_BUS_MESSAGE_UNSENDABLE' });
  });
});

describe('a listener for several function workers', () => {
  it('runs as many calls for each of them as for one, and as many batches', async () => {
    const single = open({ maxConcurrentCalls: 2 });
    const batched = open({ cardinality: 'many', maxMessageBatchSize: 3, maxBatchWaitTime: '00:00:00' });
    const running = () => new Promise<Settlement>(() => undefined);
    for (const [bench, one, three] of [
      [single, 2, 6],
      [batched, 1, 3],
    ] as const) {
      await bench.send(...Array.from({ length: 20 }, (_, n) => String(n)));
      const { seen, deliver } = recording(running);
      const listener = await bench.listen(deliver);
      await eventually(() => expect(seen).toHaveLength(one));
      listener.scale(3);
      await eventually(() => expect(seen).toHaveLength(three));
      listener.scale(1);
    }
  });
});

describe('the backlog', () => {
  it('is counted far beyond what can be looked at, without what is in flight and what is deferred', async () => {
    const bench = open({ autoCompleteMessages: false, maxConcurrentCalls: 5 });
    await bench.send(...Array.from({ length: 600 }, (_, n) => String(n)));
    const { seen, deliver } = recording(() => new Promise(() => undefined));
    const listener = await bench.listen(deliver);
    await eventually(() => seen.length === 5);
    await eventually(async () => expect(await listener.measure(never)).toMatchObject({ waiting: 595 }));
    expect((await listener.measure(never)).oldestAgeMs).toBeGreaterThanOrEqual(0);
  });
});
