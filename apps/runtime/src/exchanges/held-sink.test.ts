import { wholeAnswerHeader } from '@drover/function-rpc';
import type { AnswerSink } from '@drover/http-edge';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { HeldSink } from './held-sink.js';

const begin = { status: 200, statusText: 'OK' } as Parameters<AnswerSink['begin']>[0];
const whole = ['a', 'b', wholeAnswerHeader, 'true'];
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Records what reaches the client. */
class Client implements AnswerSink {
  readonly seen: string[] = [];
  isOver = false;
  onDrain: (() => void) | undefined;
  onLeft: (() => void) | undefined;

  answer(_: typeof begin, headers: readonly string[], body: Buffer | undefined): void {
    this.seen.push(`answer ${headers.join()} ${String(body)}`);
  }

  begin(_: typeof begin, headers: readonly string[]): void {
    this.seen.push(`begin ${headers.join()}`);
  }

  write(bytes: Buffer): boolean {
    this.seen.push(`write ${bytes.byteLength}`);
    return true;
  }

  end(): void {
    this.seen.push('end');
  }

  destroy(): void {
    this.seen.push('destroy');
  }
}

function bench() {
  const client = new Client();
  const clock = new FakeClock();
  return { client, clock, sink: new HeldSink(client, clock) };
}

describe('HeldSink', () => {
  it('holds a complete answer until it is released, marked or not', async () => {
    for (const headers of [whole, ['a', 'b']]) {
      const { client, clock, sink } = bench();
      sink.answer(begin, headers, Buffer.from('x'));
      await clock.advance(60_000);
      await nextTurn();
      expect([client.seen, sink.isHolding]).toEqual([[], true]);
      sink.release();
      sink.release();
      expect([client.seen, sink.isHolding]).toEqual([['answer a,b x'], false]);
    }
  });

  it('lets a stream pass: one that is not complete in time, or longer than what is held', async () => {
    const late = bench();
    late.sink.begin(begin, ['a', 'b']);
    late.sink.write(Buffer.from('one'));
    await late.clock.advance(99);
    await nextTurn();
    expect(late.client.seen).toEqual([]);
    await late.clock.advance(1);
    await nextTurn();
    expect(late.client.seen).toEqual(['begin a,b', 'write 3']);
    late.sink.write(Buffer.from('more'));
    late.sink.end();
    expect(late.client.seen.slice(2)).toEqual(['write 4', 'end']);

    const long = bench();
    long.sink.begin(begin, []);
    expect(long.sink.write(Buffer.alloc(300_000))).toBe(true);
    expect(long.client.seen).toEqual(['begin ', 'write 300000']);
  });

  it('holds an answer whose end arrived while the process was busy', async () => {
    const { client, clock, sink } = bench();
    clock.after(100, () => process.nextTick(() => sink.end())); // what is read in the turn of the timer
    sink.begin(begin, []);
    await clock.advance(100);
    await nextTurn();
    expect(client.seen).toEqual([]);
  });

  it('leaves the rest of a long whole answer at its worker, and asks for it when it is released', async () => {
    const { client, clock, sink } = bench();
    let drained = 0;
    sink.onDrain = () => (drained += 1);
    sink.begin(begin, whole);
    expect(sink.write(Buffer.alloc(200_000))).toBe(true);
    expect(sink.write(Buffer.alloc(200_000))).toBe(false);
    await clock.advance(60_000);
    await nextTurn();
    expect([client.seen, drained]).toEqual([[], 0]);
    sink.release();
    expect([client.seen, drained]).toEqual([['begin a,b', 'write 200000', 'write 200000'], 1]);
    sink.write(Buffer.alloc(1));
    sink.end();
    expect(client.seen.slice(3)).toEqual(['write 1', 'end']);
  });

  it('sends nothing of an answer that was discarded or broke off, and nothing to a client that left', async () => {
    const endings: ((parts: ReturnType<typeof bench>) => void)[] = [
      ({ sink }) => sink.discard(),
      ({ sink }) => sink.destroy(),
      ({ client }) => (client.isOver = true),
    ];
    for (const end of endings) {
      const parts = bench();
      parts.sink.begin(begin, []);
      parts.sink.write(Buffer.from('x'));
      end(parts);
      await parts.clock.advance(60_000);
      await nextTurn();
      parts.sink.release();
      expect(parts.client.seen).toEqual([]);
    }
  });
});
