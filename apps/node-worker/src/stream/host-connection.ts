import type { EventStream, StreamEnd, StreamingMessage } from '@drover/function-rpc';
import { backOffMs, sleep, type BackOffPolicy, type Clock, type Randomness } from '@drover/service-kit';
import type { SystemConsole } from '../logs/system-log.js';
import { settleWithin } from '../settle-within.js';
import { afterStreamEnd, exitCodeOf } from './after-stream-end.js';
import { hostConnectionStates, type HostConnectionState } from './connection-states.js';
import type { HostProperties } from './host-properties.js';

/**
 * The part of a stream that handlers use. A response must go to the stream its request came from: the host does not accept
 * it on another one.
 */
export type HostStream = Pick<EventStream, 'send' | 'sendEncoded' | 'queuedBytes' | 'ended'>;

/** How long the host has to read the last messages of a closing worker and to end its side. */
const closeGraceMs = 500;

const reconnectBackOff: BackOffPolicy = { firstMs: 50, maxMs: 2_000, factor: 2 };

export interface HostConnectionParts {
  readonly workerId: string;
  readonly requestId: string;
  /** How long to try to reconnect; 0 does not reconnect. */
  readonly reconnectMs: number;
  /** How long to try the first connection; 0 dials once. */
  readonly firstWithinMs: number;
  readonly dial: (signal: AbortSignal) => Promise<EventStream>;
  readonly host: HostProperties;
  readonly console: SystemConsole;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  /** Called each time StartStream was sent. */
  readonly onConnected: () => void;
  /** Called when a stream is lost: responses to its requests can no longer be delivered. */
  readonly onLost: (stream: HostStream, end: StreamEnd) => void;
}

/** Receives every message of the current stream. Must not throw: that would end the stream. */
export type OnMessage = (message: StreamingMessage, stream: HostStream) => void;

/** Keeps a stream to the host open, and reconnects when it is lost. Its states: connection-states.ts. */
export class HostConnection {
  readonly #parts: HostConnectionParts;
  /** Aborts dial attempts and the waits between them, not an open stream. */
  readonly #giveUp = new AbortController();
  readonly #states = hostConnectionStates.start('dialing');
  #stream: EventStream | undefined;
  #startCloseGrace: () => void = () => undefined;
  #closingCode = 0;

  constructor(parts: HostConnectionParts) {
    this.#parts = parts;
  }

  get stream(): HostStream | undefined {
    return this.#stream;
  }

  get state(): HostConnectionState {
    return this.#states.current;
  }

  /** True while a stream is open or may still be opened. */
  get isLive(): boolean {
    return !hostConnectionStates.isFinal(this.state);
  }

  /** Connects, serves and reconnects. Resolves with the exit code of the process. */
  async run(onMessage: OnMessage): Promise<number> {
    const { host, reconnectMs, firstWithinMs, console } = this.#parts;
    let stream = await this.#dialWithin(firstWithinMs);
    let codeOfLoss = 1;
    while (stream) {
      const end = await this.#serve(stream, onMessage);
      if (this.state === 'closing') break;
      const next = afterStreamEnd(end, { acceptsReturningWorkers: host.acceptsReturningWorkers, reconnectMs });
      console[end.kind === 'halfClosed' ? 'info' : 'warn'](`The stream to the host ended: ${end.reason}.`);
      if (next.kind === 'exit') return this.#ended(next.code);
      codeOfLoss = exitCodeOf(end);
      this.#states.move('reconnecting');
      stream = await this.#dialWithin(reconnectMs);
    }
    return this.#ended(this.state === 'closing' ? this.#closingCode : codeOfLoss);
  }

  /** Sends what is queued and ends the stream; `run` then resolves with `code`. Later calls do nothing. */
  close(code: number): void {
    if (this.#states.is('closing', 'ended')) return;
    this.#closingCode = code;
    this.#states.move('closing');
    this.#stream?.end();
    this.#startCloseGrace();
    if (!this.#stream) this.#giveUp.abort();
  }

  async #serve(stream: EventStream, onMessage: OnMessage): Promise<StreamEnd> {
    const { workerId, requestId, onConnected, onLost, clock } = this.#parts;
    this.#stream = stream;
    this.#states.move('connected');
    const ended = new Promise<StreamEnd>((resolve) => {
      stream.start({ onMessage: (message) => onMessage(message, stream), onEnd: resolve });
    });
    const closing = new Promise<void>((resolve) => {
      this.#startCloseGrace = resolve;
    });
    stream.send({ kind: 'startStream', requestId, value: { workerId } });
    onConnected();
    const end = await Promise.race([ended, closing.then(() => settleWithin(clock, closeGraceMs, ended))]);
    const reported: StreamEnd = end ?? { kind: 'local', reason: 'the host did not end its side in time' };
    this.#stream = undefined;
    onLost(stream, reported);
    return reported;
  }

  /** Dials until it succeeds. Returns undefined after `limitMs` or when the worker closes. A limit of 0 dials once. */
  async #dialWithin(limitMs: number): Promise<EventStream | undefined> {
    const { dial, clock, randomness, console } = this.#parts;
    const { signal } = this.#giveUp;
    const deadlineMs = clock.monotonicMs() + limitMs;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        return await dial(signal);
      } catch (error) {
        const delayMs = backOffMs(reconnectBackOff, attempt, randomness);
        if (signal.aborted) return undefined;
        if (clock.monotonicMs() + delayMs > deadlineMs) {
          console.error(`Cannot connect to the host: ${error instanceof Error ? error.message : String(error)}`);
          return undefined;
        }
        await sleep(clock, delayMs, signal).catch(() => undefined); // the loop sees the abort
      }
    }
    return undefined;
  }

  #ended(code: number): number {
    this.#states.move('ended');
    return code;
  }
}
