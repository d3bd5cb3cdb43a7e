import { EventEmitter } from 'node:events';
import { FakeClock } from '@drover/testkit';
import rhea from 'rhea';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NamespaceConnection } from '../amqp/namespace-connection.js';
import type { FrameTaker } from '../amqp/transfer-frames.js';
import { encodeBusOutcome } from './dispositions.js';
import { PeekLockLink } from './peek-lock-link.js';

const tag = Buffer.alloc(16, 1);
const accepted = encodeBusOutcome(rhea, { kind: 'complete' });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What the link uses of rhea. */
class FakeReceiver extends EventEmitter {
  readonly source = {};
  credit = 0;
  delivery_count = 0;
  readonly granted: number[] = [];
  drains = 0;

  add_credit(credits: number): void {
    this.credit += credits;
    this.granted.push(credits);
  }

  drain_credit(): void {
    this.drains += 1;
  }
}

class FakeSession extends EventEmitter {
  readonly receiver = new FakeReceiver();
  readonly local = { channel: 3 };
  readonly incoming = { next_transfer_id: 0, max_transfer_id: 8_192, window: 8_192 };
  flows = 0;
  readonly connection = { _register: () => (this.flows += 1) };
  on_disposition: (frame: object) => void = () => undefined;
  isClosed = false;
  begin(): void {}
  open_receiver(): FakeReceiver {
    return this.receiver;
  }
  close(): void {
    this.isClosed = true;
  }
}

describe('a peek-lock link', () => {
  let clock: FakeClock;
  let session: FakeSession;
  let link: PeekLockLink;
  let taker: FrameTaker | undefined;
  let lose: (reason: unknown) => void = () => undefined;
  const written: Buffer[] = [];
  const received: string[][] = [];
  beforeEach(() => {
    clock = new FakeClock();
    session = new FakeSession();
    written.length = 0;
    received.length = 0;
    const connection = {
      amqp: { create_session: () => session },
      lost: new Promise((resolve) => (lose = resolve)),
      transfers: { take: (_: unknown, own: FrameTaker) => (taker = own) },
      write: (frame: Buffer) => written.push(frame),
    } as unknown as NamespaceConnection; // all that it uses
    link = new PeekLockLink({
      rhea,
      connection,
      address: 'orders',
      name: 'receiver',
      clock,
      confirmWithinMs: 5_000,
      onMessages: (messages) => received.push(messages.map(({ body }) => body.toString())),
    });
    session.receiver.emit('receiver_open');
  });

  const encoded = (text: string): Buffer => rhea.message.encode({ body: rhea.message.data_section(Buffer.from(text)) });
  const transfer = (deliveryId: number | undefined, payload: Buffer, { more = false, aborted = false } = {}): void =>
    taker?.onTransfer({ deliveryId, tag, more, aborted, payload });
  /** A confirmation by the service. */
  const confirm = (first: number, last: number, state: unknown = rhea.types.wrap_described([], 0x24)): void =>
    session.on_disposition({ performative: { role: false, first, last, settled: true, state } });

  it('hands over the messages of one read together, whole', async () => {
    const [a, b] = [encoded('a'), encoded('b')];
    transfer(0, a);
    transfer(1, b.subarray(0, 3), { more: true });
    transfer(undefined, b.subarray(3, 5), { more: true });
    transfer(undefined, b.subarray(5));
    transfer(2, a.subarray(0, 3), { more: true });
    transfer(undefined, Buffer.alloc(0), { aborted: true });
    transfer(3, rhea.message.encode({ body: 'left to rhea' }));
    await turn();
    expect(received).toEqual([['a', 'b', 'left to rhea']]);
    expect(session.receiver.delivery_count).toBe(3);
  });

  it('opens its window again when half of it is used', () => {
    for (let id = 0; id < 4_096; id += 1) transfer(id, encoded('x'));
    expect(session.flows).toBe(0);
    transfer(4_096, encoded('x'));
    expect(session.flows).toBe(1);
  });

  it('returns credits in steps, and at once when few are left', async () => {
    link.start(100);
    await turn();
    for (let id = 0; id < 30; id += 1) transfer(id, encoded('x'));
    link.returnCredits(20);
    await turn();
    expect(session.receiver.granted).toEqual([100]);
    link.returnCredits(5);
    await turn();
    expect(session.receiver.granted).toEqual([100, 25]);
    for (let id = 30; id < 101; id += 1) transfer(id, encoded('x'));
    link.returnCredits(1);
    await turn();
    expect([session.receiver.granted, session.receiver.credit]).toEqual([[100, 25, 1], 25]);
  });

  it('takes its credits back, and returns none afterwards', async () => {
    link.start(10);
    await turn();
    const drained = link.drain();
    expect(session.receiver.drains).toBe(1);
    link.returnCredits(10);
    await turn();
    expect(session.receiver.granted).toEqual([10]);
    session.receiver.emit('receiver_drained');
    await expect(drained).resolves.toBeUndefined();
  });

  it('sends the outcomes of one turn in one write, and reports each when it is confirmed', async () => {
    const done: (readonly [number, unknown])[] = [];
    for (const id of [4, 5, 6, 9]) link.settle(id, accepted, (error) => done.push([id, error]));
    await turn();
    expect(written).toHaveLength(1);
    confirm(4, 5);
    expect(done).toEqual([
      [4, undefined],
      [5, undefined],
    ]);
    taker?.onApplied({ first: 6, last: 6 });
    expect(done.at(-1)).toEqual([6, undefined]);
    confirm(0, 1_000_000);
    expect(done.map(([id]) => id)).toEqual([4, 5, 6, 9]);
  });

  it('reports the reason for which the service has not applied an outcome', async () => {
    const done: unknown[] = [];
    link.settle(4, accepted, (error) => done.push(error));
    await turn();
    const { rejected } = rhea.message as unknown as {
      readonly rejected: (fields: object) => { described(): unknown };
    }; // not in its types
    const error = { condition: 'com.microsoft:message-lock-lost', description: 'expired' };
    const { types } = rhea as unknown as {
      types: {
        Writer: new () => { write(value: unknown): void; toBuffer(): Buffer };
        Reader: new (bytes: Buffer) => { read(): unknown };
      };
    }; // not in its types
    const writer = new types.Writer();
    writer.write(rejected({ error }).described());
    confirm(4, 4, new types.Reader(writer.toBuffer()).read());
    expect(done).toMatchObject([{ condition: 'com.microsoft:message-lock-lost', message: 'expired' }]);
  });

  it('fails what is not confirmed when it ends, and what comes later', async () => {
    const done: unknown[] = [];
    link.settle(1, accepted, (error) => done.push(error));
    await turn();
    lose(new Error('the connection was lost'));
    await link.ended;
    link.settle(2, accepted, (error) => done.push(error));
    expect(done).toMatchObject([{ message: 'the connection was lost' }, { message: 'the link has ended' }]);
    expect(written).toHaveLength(1);
  });

  it('ends when the service confirms nothing for long', async () => {
    const done: unknown[] = [];
    link.settle(1, accepted, (error) => done.push(error));
    link.settle(2, accepted, (error) => done.push(error));
    await clock.advance(4_000);
    confirm(1, 1);
    await clock.advance(2_000);
    expect(done).toEqual([undefined]);
    await clock.advance(5_000);
    expect(done).toMatchObject([undefined, { message: expect.stringContaining('did not confirm') }]);
    expect(session.isClosed).toBe(true);
  });
});
