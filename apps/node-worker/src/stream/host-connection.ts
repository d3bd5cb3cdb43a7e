import type { EventStream, StreamEnd, StreamingMessage } from '@drover/function-rpc';
import { within, type Clock } from '../clock.js';
import type { SystemConsole } from '../logs/system-console.js';
import { afterStreamEnd, exitCodeOf, reconnectDelayMs } from './after-stream-end.js';
import { isLive, mayMove, type ConnectionState } from './connection-states.js';
import type { HostFacts } from './host-facts.js';
import type { HostStream } from './host-stream.js';

/** How long the host has to take the last words of a worker that ends, and to end its side. */
const farewellMs = 500;

export interface HostConnectionParts {
  readonly workerId: string;
  readonly requestId: string;
  /** How long a host may stay away; 0 never waits for one. */
  readonly reconnectMs: number;
  /** True where the host may come up after its workers. */
  readonly waitsForFirst: boolean;
  readonly dial: (signal: AbortSignal) => Promise<EventStream>;
  readonly host: HostFacts;
  readonly console: SystemConsole;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly chance: () => number;
  readonly onMessage: (message: StreamingMessage, stream: HostStream) => void;
  /** StartStream was sent, for the first time or again. */
  readonly onConnected: () => void;
  /** The stream is over, and whoever works for it works for nobody. */
  readonly onLost: (stream: HostStream, end: StreamEnd) => void;
}

/** The stream to the host, and the next one when it is lost. Its states: connection-states.ts. */
export class HostConnection {
  readonly #parts: HostConnectionParts;
  /** Ends attempts and the waits between them. Not the stream, which ends in its own time. */
  readonly #giveUp = new AbortController();
  #state: ConnectionState = 'dialing';
  #stream: EventStream | undefined;
  #startFarewell: () => void = () => undefined;
  #closingCode = 0;

  constructor(parts: HostConnectionParts) {
    this.#parts = parts;
  }

  get stream(): HostStream | undefined {
    return this.#stream;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get isLive(): boolean {
    return isLive(this.#state);
  }

  /** Connects, serves and comes back; resolves with the exit code when there is nothing more to serve. */
  async run(): Promise<number> {
    const { host, reconnectMs, waitsForFirst, console } = this.#parts;
    let stream = await this.#dialWithin(waitsForFirst ? reconnectMs : 0);
    let codeOfLoss = 1;
    while (stream) {
      const end = await this.#serve(stream);
      if (this.#state === 'closing') break;
      const next = afterStreamEnd(end, { takesWorkersBack: host.takesWorkersBack, reconnectMs });
      console.warn(`The stream to the host ended: ${end.reason}.`);
      if (next.kind === 'exit') return this.#ended(next.code);
      codeOfLoss = exitCodeOf(end);
      this.#move('reconnecting');
      stream = await this.#dialWithin(reconnectMs);
    }
    return this.#ended(this.#state === 'closing' ? this.#closingCode : codeOfLoss);
  }

  /** Sends what is queued, ends the stream, and lets `run` resolve with `code`. */
  close(code: number): void {
    if (this.#state === 'closing' || this.#state === 'ended') return;
    this.#closingCode = code;
    this.#move('closing');
    this.#stream?.end();
    this.#startFarewell();
    if (!this.#stream) this.#giveUp.abort();
  }

  async #serve(stream: EventStream): Promise<StreamEnd> {
    const { workerId, requestId, onMessage, onConnected, onLost, clock } = this.#parts;
    this.#stream = stream;
    this.#move('connected');
    const ended = new Promise<StreamEnd>((resolve) => {
      stream.start({ onMessage: (message) => onMessage(message, stream), onEnd: resolve });
    });
    const closing = new Promise<void>((resolve) => {
      this.#startFarewell = resolve;
    });
    stream.send({ kind: 'startStream', requestId, value: { workerId } });
    onConnected();
    const end = await Promise.race([ended, closing.then(() => within(clock, farewellMs, ended))]);
    const told: StreamEnd = end ?? { kind: 'local', reason: 'the host did not end its side in time' };
    this.#stream = undefined;
    onLost(stream, told);
    return told;
  }

  /** Tries until there is a stream; undefined when time is over or the worker closes. With no time: one attempt. */
  async #dialWithin(limitMs: number): Promise<EventStream | undefined> {
    const { dial, clock, chance, console } = this.#parts;
    const { signal } = this.#giveUp;
    const deadlineMs = clock.monotonicMs() + limitMs;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await dial(signal);
      } catch (error) {
        const delayMs = reconnectDelayMs(attempt, chance());
        if (signal.aborted) return undefined;
        if (clock.monotonicMs() + delayMs > deadlineMs) {
          console.error(`Cannot connect to the host: ${error instanceof Error ? error.message : String(error)}`);
          return undefined;
        }
        await this.#pause(delayMs);
      }
    }
    return undefined;
  }

  #pause(delayMs: number): Promise<void> {
    const { signal } = this.#giveUp;
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#parts.clock.after(delayMs, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #ended(code: number): number {
    this.#move('ended');
    return code;
  }

  #move(to: ConnectionState): void {
    if (this.#state === to) return;
    if (!mayMove(this.#state, to)) throw new Error(`a connection cannot go from ${this.#state} to ${to}`);
    this.#state = to;
  }
}
