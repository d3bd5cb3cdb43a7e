import { AzureQueueAccount, storageConnection } from '@drover/trigger-sources';
import { startAzurite, type Azurite } from '@drover/trigger-sources/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, app, ordersApp, startRuntime, type Runtime } from '../support/functions.js';

/** A message as senders put it into a queue. */
function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

interface Order {
  readonly id: number | string;
  readonly amount?: number;
  readonly price?: number;
}

describe('drover-runtime with an app that works on queues', () => {
  let azurite: Azurite;
  let runtime: Runtime;

  beforeAll(async () => {
    azurite = await startAzurite();
    runtime = await startRuntime({
      apps: [ordersApp, app('slow-queue'), app('crashing')],
      env: { AzureWebJobsStorage: azurite.connectionString },
    });
  });
  afterAll(async () => {
    await runtime.stop();
    await azurite.stop();
  });

  const never = (): AbortSignal => new AbortController().signal;
  const queue = (name: string) => {
    const settings = { AzureWebJobsStorage: azurite.connectionString };
    return new AzureQueueAccount(
      storageConnection({ service: 'queue', functionName: 'test', connection: undefined, settings }),
    ).queue(name);
  };

  /** Receives all messages that are in a queue now, each once. */
  async function take(name: string): Promise<unknown[]> {
    const found: unknown[] = [];
    for (;;) {
      const messages = await queue(name)
        .receive({ count: 32, leaseMs: 600_000 }, never())
        .catch(() => []);
      if (messages.length === 0) return found;
      for (const { text } of messages) found.push(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
    }
  }

  /** Posts an order again and again until it is accepted. */
  async function post(order: Order): Promise<void> {
    await eventually(async () => {
      const init = { method: 'POST', body: JSON.stringify(order) };
      const answer = await answerOf(() => runtime.call('/api/order', init));
      if (answer.status !== 202) throw new Error(`order ${order.id}: ${answer.status} ${answer.text}`);
    });
  }

  /** Log lines of the function about an order. */
  const sightings = (id: string): string[] =>
    runtime.log.flatMap(({ msg }) => (msg.startsWith(`order ${id}, seen `) ? [msg] : []));

  it('loses none of 200 orders while function workers are killed: HTTP, queue, function, queue', async ({
    annotate,
  }) => {
    const receipts: { receiptFor: number; total: number }[] = [];
    const orders = Array.from({ length: 200 }, (_, id) => ({ id, amount: 2, price: id }));
    const waiting = [...orders];
    const posting = Array.from({ length: 10 }, async () => {
      for (let order = waiting.shift(); order; order = waiting.shift()) await post(order);
    });
    for (const limit of [140, 70]) {
      await eventually(() => waiting.length < limit);
      for (const victim of runtime.workers) process.kill(victim, 'SIGKILL');
    }
    await Promise.all(posting);
    await eventually(async () => {
      receipts.push(...((await take('receipts')) as typeof receipts));
      expect(orders.filter(({ id }) => !receipts.some(({ receiptFor }) => receiptFor === id))).toEqual([]);
    });
    for (const { receiptFor, total } of receipts) expect(total).toBe(2 * receiptFor);
    expect(runtime.log.filter(({ kind }) => kind === 'worker.lost').length).toBeGreaterThanOrEqual(2);
    await annotate(`${receipts.length} receipts for 200 orders`);
  });

  it('hands out again what a killed function worker had in hand', async () => {
    const ids = Array.from({ length: 40 }, (_, id) => id);
    await queue('slow').create(never());
    await Promise.all(ids.map((id) => queue('slow').send(encoded({ id }), { keep: 'by-default' }, never())));
    const line = await runtime.child.line(/\d+ has message \d+/);
    const victim = Number(/(\d+) has message/.exec(line)?.[1]);
    process.kill(victim, 'SIGKILL');
    const done: unknown[] = [];
    await eventually(async () => {
      done.push(...(await take('slow-done')));
      expect(ids.filter((id) => !done.some((one) => (one as { done: number }).done === id))).toEqual([]);
    });
    const lost = runtime.log.filter(({ kind, inFlight }) => kind === 'worker.lost' && Number(inFlight) > 0);
    expect(lost.length).toBeGreaterThan(0);
    const again = () =>
      runtime.log.filter(({ kind, function: name }) => kind === 'message.settled' && name === 'slowly');
    await eventually(() => again().length > 0);
    for (const { settlement, why } of again()) {
      expect(settlement).toBe('abandon');
      expect(why).toContain('was lost while it ran this invocation');
    }
    expect(await take('slow-poison')).toEqual([]);
  });

  it('puts a message aside that ended two function workers, and reads all that were in flight with it', async () => {
    await queue('letters').create(never());
    const letters = [{ id: 'bad', isPoison: true }, ...Array.from({ length: 10 }, (_, id) => ({ id: `good-${id}` }))];
    await Promise.all(letters.map((letter) => queue('letters').send(encoded(letter), { keep: 'by-default' }, never())));
    const poisoned = await eventually(async () => {
      const found = await take('letters-poison');
      return found.length > 0 && found;
    });
    expect(poisoned).toEqual([{ id: 'bad', isPoison: true }]);
    const printed = (text: RegExp): string[] => runtime.log.flatMap(({ msg }) => (text.test(msg) ? [msg] : []));
    await eventually(() => {
      for (const { id } of letters.slice(1)) expect(printed(new RegExp(`^letter ${id} is read`))).toHaveLength(1);
    });
    expect(printed(/opens letter bad/)).toHaveLength(2);
    expect(await take('letters-poison')).toEqual([]);
  });

  it('puts an order aside that fails every time: five tries, and the log has each of them', async () => {
    await post({ id: 'without-price', amount: 1 });
    const poisoned = await eventually(async () => {
      const found = await take('orders-poison');
      return found.length > 0 && found;
    });
    expect(poisoned).toEqual([{ id: 'without-price', amount: 1 }]);
    expect(sightings('without-price')).toEqual([1, 2, 3, 4, 5].map((n) => `order without-price, seen ${n} times`));
    const poison = runtime.log.find(({ kind, msg }) => kind?.startsWith('queue.') && msg.includes('orders-poison'));
    expect(poison?.msg).toContain('takeOrder');
    expect(runtime.said).toContain('the price for order without-price is not known yet');
  });

  it('puts an order aside at once when the function rejects it', async () => {
    await post({ id: 'of-nothing', amount: 0, price: 5 });
    const poisoned = await eventually(async () => {
      const found = await take('orders-poison');
      return found.length > 0 && found;
    });
    expect(poisoned).toEqual([{ id: 'of-nothing', amount: 0, price: 5 }]);
    expect(sightings('of-nothing')).toEqual(['order of-nothing, seen 1 times']);
    expect(runtime.said).toContain('order of-nothing asks for nothing');
  });

  it('works on afterwards, and leaves the queue empty', async () => {
    await post({ id: 'last', amount: 1, price: 3 });
    const receipts = await eventually(async () => {
      const found = await take('receipts');
      return found.length > 0 && found;
    });
    expect(receipts).toContainEqual({ receiptFor: 'last', total: 3 });
    await eventually(async () => expect(await queue('orders').count(never())).toBe(0));
  });

  it('finishes the messages it has when it is told to stop, and leaves the others where they are', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => 1_000 + n);
    await Promise.all(ids.map((id) => queue('slow').send(encoded({ id }), { keep: 'by-default' }, never())));
    await runtime.child.line(/has message 1\d\d\d/);
    expect(await runtime.stop()).toEqual({ code: 0, signal: null });
    const taken = runtime.log.flatMap(({ msg }) => /has message (1\d\d\d)$/.exec(msg)?.[1] ?? []).map(Number);
    const done = ((await take('slow-done')) as { done: number }[]).map((one) => one.done);
    expect(new Set(done)).toEqual(new Set(taken));
    expect(await queue('slow').count(never())).toBe(ids.length - done.length);
    expect(runtime.log.filter(({ kind }) => kind === 'process.drain-cut')).toEqual([]);
  });
});
