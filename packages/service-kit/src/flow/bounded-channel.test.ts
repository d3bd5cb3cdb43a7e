import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedChannel } from './bounded-channel.js';

describe('BoundedChannel', () => {
  it('hands items over in order, also those of senders that had to wait', async () => {
    const channel = new BoundedChannel<number>(2);
    const sent = [1, 2, 3, 4, 5].map((item) => channel.send(item));
    expect(channel.size).toBe(2);
    const received: number[] = [];
    for (let count = 0; count < 5; count++) received.push((await channel.receive()).value ?? -1);
    expect(received).toEqual([1, 2, 3, 4, 5]);
    expect(await Promise.all(sent)).toEqual([true, true, true, true, true]);
  });

  it('serves receivers that wait in the order they came', async () => {
    const channel = new BoundedChannel<string>(1);
    const waiting = [channel.receive(), channel.receive()];
    expect(channel.trySend('a')).toBe(true);
    expect(channel.trySend('b')).toBe(true);
    expect(await Promise.all(waiting)).toEqual([
      { value: 'a', done: false },
      { value: 'b', done: false },
    ]);
  });

  it('refuses by trySend when full, also when there is a queue before it', async () => {
    const channel = new BoundedChannel<number>(1);
    expect(channel.trySend(1)).toBe(true);
    expect(channel.trySend(2)).toBe(false);
    const waiting = channel.send(3);
    await channel.receive();
    expect(channel.trySend(4)).toBe(false);
    await expect(waiting).resolves.toBe(true);
  });

  it('still hands out what is inside after close, then ends', async () => {
    const channel = new BoundedChannel<number>(3);
    channel.trySend(1);
    channel.trySend(2);
    channel.close();
    channel.close();
    expect(channel.closed).toBe(true);
    const received: number[] = [];
    for await (const item of channel) received.push(item);
    expect(received).toEqual([1, 2]);
  });

  it('takes nothing after close, and tells senders and receivers that wait', async () => {
    const full = new BoundedChannel<number>(1);
    full.trySend(1);
    const sender = full.send(2);
    full.close();
    await expect(sender).resolves.toBe(false);
    await expect(full.send(3)).resolves.toBe(false);
    expect(full.trySend(4)).toBe(false);
    const empty = new BoundedChannel<number>(1);
    const receiver = empty.receive();
    empty.close();
    await expect(receiver).resolves.toEqual({ value: undefined, done: true });
  });

  it('takes the item back when its sender gives up, and keeps the others in order', async () => {
    const channel = new BoundedChannel<string>(1);
    const abort = new AbortController();
    const first = channel.send('first');
    const given = channel.send('given up', abort.signal);
    const last = channel.send('last');
    abort.abort(new Error('changed my mind'));
    await expect(given).rejects.toThrow('changed my mind');
    await expect(first).resolves.toBe(true);
    expect((await channel.receive()).value).toBe('first');
    await expect(last).resolves.toBe(true);
    expect((await channel.receive()).value).toBe('last');
    expect(channel.size).toBe(0);
  });

  it('sends nothing for a signal that had aborted', async () => {
    const channel = new BoundedChannel<number>(1);
    await expect(channel.send(1, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
    expect(channel.size).toBe(0);
  });

  it('loses no item to a receiver that gave up', async () => {
    const channel = new BoundedChannel<number>(1);
    const abort = new AbortController();
    const given = channel.receive(abort.signal);
    const patient = channel.receive();
    abort.abort(new Error('not now'));
    await expect(given).rejects.toThrow('not now');
    await expect(channel.receive(abort.signal)).rejects.toThrow('not now');
    channel.trySend(1);
    await expect(patient).resolves.toEqual({ value: 1, done: false });
  });

  it('leaves no listener behind on a signal that lives on', async () => {
    const channel = new BoundedChannel<number>(1);
    const { signal } = new AbortController();
    const received = channel.receive(signal);
    await channel.send(1, signal);
    await received;
    await channel.send(2, signal);
    const waiting = channel.send(3, signal);
    await channel.receive();
    await waiting;
    const refused = channel.send(4, signal);
    channel.close();
    await refused;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('carries undefined like any other item', async () => {
    const channel = new BoundedChannel<undefined>(1);
    channel.trySend(undefined);
    await expect(channel.receive()).resolves.toEqual({ value: undefined, done: false });
  });

  it('refuses a capacity that is no bound', () => {
    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new BoundedChannel(capacity)).toThrow(RangeError);
    }
  });
});

type Step =
  | { readonly act: 'send' | 'trySend' | 'receive' | 'close' }
  | { readonly act: 'abortSend' | 'abortReceive'; readonly pick: number };

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom<Step>({ act: 'send' }) },
    { weight: 2, arbitrary: fc.constantFrom<Step>({ act: 'trySend' }) },
    { weight: 5, arbitrary: fc.constantFrom<Step>({ act: 'receive' }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('abortSend', 'abortReceive'), pick: fc.nat(100) }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ act: 'close' }) },
  ),
  { maxLength: 60 },
);

/** The same promises, kept by the simplest means: one line of items of which the first `capacity` are inside. */
class Model {
  readonly outcomes = new Map<string, string>();
  readonly #capacity: number;
  #line: { readonly item: number; readonly sender: string | undefined }[] = [];
  #receivers: string[] = [];
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return Math.min(this.#line.length, this.#capacity);
  }

  send(sender: string, item: number): void {
    if (this.#closed) this.outcomes.set(sender, 'refused');
    else this.#line.push({ item, sender });
    this.#match();
  }

  trySend(item: number): boolean {
    if (this.#closed || this.#line.length >= this.#capacity) return false;
    this.#line.push({ item, sender: undefined });
    this.#match();
    return true;
  }

  receive(receiver: string): void {
    this.#receivers.push(receiver);
    this.#match();
  }

  abort(name: string): void {
    if (this.outcomes.has(name)) return;
    this.outcomes.set(name, 'aborted');
    this.#line = this.#line.filter(({ sender }) => sender !== name);
    this.#receivers = this.#receivers.filter((receiver) => receiver !== name);
  }

  close(): void {
    this.#closed = true;
    for (const { sender } of this.#line.splice(this.#capacity)) if (sender) this.outcomes.set(sender, 'refused');
    this.#match();
  }

  #match(): void {
    while (this.#line.length > 0 && this.#receivers.length > 0) {
      const [entry, receiver] = [this.#line.shift(), this.#receivers.shift()];
      if (entry?.sender) this.outcomes.set(entry.sender, 'accepted');
      if (entry && receiver) this.outcomes.set(receiver, `got ${entry.item}`);
    }
    for (const { sender } of this.#line.slice(0, this.#capacity)) if (sender) this.outcomes.set(sender, 'accepted');
    if (this.#closed && this.#line.length === 0) {
      for (const receiver of this.#receivers.splice(0)) this.outcomes.set(receiver, 'ended');
    }
  }
}

it('does what a simple model does, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (capacity, acts) => {
      const [channel, model] = [new BoundedChannel<number>(capacity), new Model(capacity)];
      const outcomes = new Map<string, string>();
      const aborts = { send: [] as AbortController[], receive: [] as AbortController[] };
      const note = (name: string, outcome: Promise<string>): void =>
        void outcome.catch(() => 'aborted').then((text) => outcomes.set(name, text));
      let item = 0;
      for (const step of acts) {
        item += 1;
        const abort = new AbortController();
        switch (step.act) {
          case 'send': {
            const name = `send ${aborts.send.push(abort)}`;
            note(
              name,
              channel.send(item, abort.signal).then((ok) => (ok ? 'accepted' : 'refused')),
            );
            model.send(name, item);
            break;
          }
          case 'trySend':
            expect(channel.trySend(item)).toBe(model.trySend(item));
            break;
          case 'receive': {
            const name = `receive ${aborts.receive.push(abort)}`;
            note(
              name,
              channel.receive(abort.signal).then((result) => (result.done ? 'ended' : `got ${result.value}`)),
            );
            model.receive(name);
            break;
          }
          case 'abortSend':
          case 'abortReceive': {
            const kind = step.act === 'abortSend' ? 'send' : 'receive';
            const index = step.pick % Math.max(1, aborts[kind].length);
            if (aborts[kind].length === 0) break;
            aborts[kind][index]?.abort();
            model.abort(`${kind} ${index + 1}`);
            break;
          }
          case 'close':
            channel.close();
            model.close();
        }
        expect(channel.size).toBe(model.size);
      }
      await new Promise((resolve) => setImmediate(resolve));
      expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(model.outcomes));
    }),
  );
});
