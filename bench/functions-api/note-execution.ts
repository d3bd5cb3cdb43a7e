import net from 'node:net';
import { sharedNowMs } from '../harness/clock.js';

/** Long enough that notes cost next to nothing, short beside everything that they are about. */
const flushMs = 5;

/** Tells a recorder which jobs ran, and when: in whatever process they ran, for all contestants alike. */
class Notes {
  readonly #socket: net.Socket;
  #noted: number[] = [];
  #isFlushSet = false;

  constructor(port: number) {
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.unref();
    // The run that wanted the notes is over; nobody misses them.
    this.#socket.on('error', () => forget(port));
    this.#socket.on('close', () => forget(port));
  }

  note(number: number): void {
    this.#noted.push(number, sharedNowMs());
    if (this.#isFlushSet) return;
    this.#isFlushSet = true;
    setTimeout(() => this.#flush(), flushMs);
  }

  #flush(): void {
    this.#isFlushSet = false;
    const pairs = Float64Array.from(this.#noted);
    this.#noted = [];
    this.#socket.write(Buffer.from(pairs.buffer));
  }
}

const open = new Map<number, Notes>();

function forget(port: number): void {
  open.delete(port);
}

/** The job of this number runs now. */
export function noteExecution(recorderPort: number, number: number): void {
  let notes = open.get(recorderPort);
  if (!notes) open.set(recorderPort, (notes = new Notes(recorderPort)));
  notes.note(number);
}

/** What a job that is to be noted has for an input. */
export interface NotedInput {
  readonly recorder: number;
  /** A number, as text of nine digits. */
  readonly n: string;
}
