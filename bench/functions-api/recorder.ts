import { once } from 'node:events';
import net from 'node:net';

const pairBytes = 16;
/** Nobody is this slow: what has not run by then is lost. */
const stallMs = 30_000;

/** Jobs that were told to run, by their numbers, and when they did. */
export interface Expected {
  /** Resolves when each has run; fails when nothing happens any more. */
  readonly done: Promise<void>;
  /** By number, counted from the first one expected; by the clock that processes agree on. */
  readonly ranAtMs: Float64Array;
  /** How many ran again. */
  readonly again: () => number;
}

interface Expectation extends Expected {
  readonly first: number;
  readonly note: (number: number, atMs: number) => void;
  readonly fail: (error: Error) => void;
}

/** The other end of `noteExecution`. */
export class Recorder {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #expected: Expectation | undefined;
  #nextNumber = 0;

  private constructor() {
    this.#server = net.createServer((socket) => {
      this.#sockets.add(socket);
      let rest: Buffer = Buffer.alloc(0);
      socket.on('data', (data: Buffer) => {
        rest = this.#read(Buffer.concat([rest, data]));
      });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async listen(): Promise<Recorder> {
    const recorder = new Recorder();
    recorder.#server.listen(0, '127.0.0.1');
    await once(recorder.#server, 'listening');
    return recorder;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port; // it listens on TCP
  }

  /** From here on, `count` jobs from the number `first` on are waited for, and all others ignored. */
  expect(count: number): Expected & { readonly first: number } {
    const first = this.#nextNumber;
    this.#nextNumber += count;
    this.#expected = expectation(first, count);
    return this.#expected;
  }

  async close(): Promise<void> {
    this.#expected?.fail(new Error('the recorder was closed'));
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** What is left is the begin of the next pair. */
  #read(bytes: Buffer): Buffer {
    const whole = bytes.length - (bytes.length % pairBytes);
    for (let at = 0; at < whole; at += pairBytes)
      this.#expected?.note(bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8));
    return Buffer.from(bytes.subarray(whole));
  }
}

function expectation(first: number, count: number): Expectation {
  const ranAtMs = new Float64Array(count);
  let left = count;
  let again = 0;
  let finish: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const settled = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const stalled = (): void => fail(new Error(`${count - left} of ${count} jobs ran, then none for ${stallMs} ms`));
  const timer = setTimeout(stalled, stallMs);
  const done = settled.finally(() => clearTimeout(timer));
  // Told to whoever waits for it; nobody has to.
  done.catch(() => undefined);
  return {
    first,
    done,
    ranAtMs,
    again: () => again,
    fail,
    note(number, atMs) {
      const index = number - first;
      if (index < 0 || index >= count) return;
      timer.refresh();
      if (ranAtMs[index] !== 0) {
        again += 1;
        return;
      }
      ranAtMs[index] = atMs;
      left -= 1;
      if (left === 0) finish();
    },
  };
}
