import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { BackOff, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { WorkInterest } from '../parked-trigger.js';
import type { TriggerWatchObservation } from './observations.js';

export interface NotificationEndpointIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TriggerWatchObservation>;
}

interface NotificationEndpointOptions extends NotificationEndpointIo {
  /** `http://host:port` of the emulator. */
  readonly origin: string;
}

/** A source that wants to be told about work. Each call may come at any time until `remove`. */
export interface NotificationTarget {
  /** A connection is there: `watch` may be called. What was watched before is forgotten. */
  onConnected(): void;
  onLost(): void;
  /** The interest has ended: there is work. */
  onWork(): void;
  /** The interest has ended: the emulator does not know such an entity. */
  onRefused(): void;
}

/** An emulator that restarts is back within seconds. */
const reconnects = { firstMs: 100, maxMs: 5_000, factor: 2 };
/** Another program has the port, such as Azurite: it may end, and ours takes over. */
const unsupportedForMs = 30_000;
const connectWithinMs = 5_000;
/** The emulator sends an empty line every ten seconds. */
const silentForMs = 30_000;
/** A line names a number: anything longer is not of this protocol. */
const longestLine = 4_096;

/**
 * The streaming connection to one emulator, shared by all parked sources and listeners there. It is open while it has targets.
 *
 * The interest of a target is a question that is answered once: at once if there is work already, else when work arrives. So
 * nothing is lost between a look and a subscription, nor over a reconnect, after which every target asks again.
 */
export class NotificationEndpoint {
  readonly #options: NotificationEndpointOptions;
  readonly #targets = new Set<NotificationTarget>();
  /** What the emulator was asked, by the number of the question. */
  readonly #asked = new Map<number, NotificationTarget>();
  readonly #backOff: BackOff;
  #lastNumber = 0;
  #socket: Socket | undefined;
  /** Ends the attempt, the connection or the wait that is under way. */
  #cancel: (() => void) | undefined;
  #cancelSilence: () => void = () => undefined;

  constructor(options: NotificationEndpointOptions) {
    this.#options = options;
    this.#backOff = new BackOff(reconnects, options);
  }

  get isConnected(): boolean {
    return this.#socket !== undefined;
  }

  get isUnused(): boolean {
    return this.#targets.size === 0;
  }

  /** Connects with the first target. Does not call back before it returns. */
  add(target: NotificationTarget): void {
    this.#targets.add(target);
    if (!this.#cancel) this.#connect();
  }

  /** Forgets a target and its question. Closes the connection with the last one. */
  remove(target: NotificationTarget, question?: number): void {
    this.#targets.delete(target);
    if (question !== undefined && this.#asked.delete(question)) this.#send({ unwatch: question });
    if (this.#targets.size === 0) this.#close();
  }

  /** Asks the emulator to tell when there is work. Only while connected. Returns the number of the question. */
  watch(target: NotificationTarget, interest: WorkInterest): number {
    this.#lastNumber += 1;
    this.#asked.set(this.#lastNumber, target);
    this.#send({ watch: this.#lastNumber, ...interest });
    return this.#lastNumber;
  }

  #send(line: object): void {
    this.#socket?.write(`${JSON.stringify(line)}\n`);
  }

  #connect(): void {
    const { origin, clock } = this.#options;
    const request = httpRequest(`${origin}/$notifications`, {
      agent: false,
      headers: { connection: 'Upgrade', upgrade: 'drover-notifications' },
    });
    let isOver = false;
    const fail = (reason: string, waitMs: number): void => {
      if (isOver) return;
      isOver = true;
      cancelTimeout();
      request.destroy();
      this.#waitAndConnect(reason, waitMs);
    };
    const cancelTimeout = clock.after(connectWithinMs, () => fail('no answer', this.#backOff.nextMs()));
    this.#cancel = () => {
      isOver = true;
      cancelTimeout();
      request.destroy();
    };
    request.on('error', (error) => fail(error.message, this.#backOff.nextMs()));
    request.once('response', (response) => {
      response.resume();
      fail(`it answered ${response.statusCode}`, unsupportedForMs);
    });
    request.once('upgrade', (_, socket: Socket, head) => {
      if (isOver) return void socket.destroy();
      isOver = true;
      cancelTimeout();
      this.#open(socket, head);
    });
    request.end();
  }

  #open(socket: Socket, head: Buffer): void {
    const { origin, observe } = this.#options;
    this.#socket = socket;
    this.#backOff.reset();
    let rest = '';
    const lose = (reason: string): void => {
      if (this.#socket !== socket) return;
      this.#forgetSocket();
      this.#waitAndConnect(reason, this.#backOff.nextMs());
    };
    const receive = (text: string): void => {
      this.#expectSound(() => lose('it is silent'));
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) return lose('it sent a line that is too long');
      for (const line of lines) if (line !== '' && !this.#receive(line)) return lose('it sent an unknown message');
    };
    socket.setNoDelay(true);
    socket.setEncoding('utf8');
    socket.on('error', (error) => lose(error.message));
    socket.on('close', () => lose('the connection was closed'));
    socket.on('data', receive); // text: an encoding is set
    this.#cancel = () => this.#forgetSocket();
    this.#expectSound(() => lose('it is silent'));
    observe({ kind: 'watch.endpoint-connected', origin });
    for (const target of this.#targets) target.onConnected();
    if (head.length > 0) receive(head.toString('utf8'));
  }

  /** Returns false for a line that is not of the protocol. */
  #receive(line: string): boolean {
    const message = parseLine(line);
    const number = message?.work ?? message?.refused;
    if (number === undefined) return false;
    const target = this.#asked.get(number);
    this.#asked.delete(number);
    if (message?.work === undefined) target?.onRefused();
    else target?.onWork();
    return true;
  }

  #expectSound(onSilence: () => void): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#options.clock.after(silentForMs, onSilence);
  }

  #forgetSocket(): void {
    this.#cancelSilence();
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#asked.clear();
  }

  #waitAndConnect(reason: string, waitMs: number): void {
    const { origin, clock, observe } = this.#options;
    observe({ kind: 'watch.endpoint-lost', origin, reason });
    this.#cancel = clock.after(waitMs, () => this.#connect());
    for (const target of this.#targets) target.onLost();
  }

  #close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

function parseLine(line: string): { readonly work?: number; readonly refused?: number } | undefined {
  try {
    const { work, refused } = JSON.parse(line) as Readonly<Record<string, unknown>>; // checked below
    if (typeof work === 'number') return { work };
    return typeof refused === 'number' ? { refused } : undefined;
  } catch {
    return undefined;
  }
}
