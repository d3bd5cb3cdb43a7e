import { sharedNowMs } from '../../harness/clock.js';
import { Connection } from './connection.js';
import { headerOf, statusOf, type Message } from './message-reader.js';
import { Request, type RequestSpec } from './request.js';
import { Samples } from './samples.js';

/** Requests at a given rate, whatever becomes of them: the way the world calls. */
export interface OpenLoad {
  readonly port: number;
  readonly request: RequestSpec;
  readonly phases: readonly Phase[];
  /** As many as can be under way at most; they are open before the first request. */
  readonly connections: number;
  readonly firstNumber?: number;
  /** Every so many-th caller who gets a 429 waits exactly as long as `Retry-After` says and comes back, once. */
  readonly oneInComesBack?: number;
}

export interface Phase {
  readonly perSecond: number;
  readonly durationMs: number;
}

export interface PhaseResult {
  readonly sent: number;
  /** Of those sent in this phase; any status but 429. */
  readonly served: Readonly<Record<string, number>>;
  readonly servedUs: readonly number[];
  readonly refusedUs: readonly number[];
  /** Answers with a status below 300 that came during the phase, without its first quarter. */
  readonly succeededPerSecond: number;
  /** Callers who came back during this phase, and how many of them were served. */
  readonly cameBack: number;
  readonly cameBackServed: number;
}

export interface OpenLoadResult {
  readonly phases: readonly PhaseResult[];
  readonly retryAfterS: readonly number[];
  /** When each answer came, in the order of the requests; after `startedAtMs`. */
  readonly answeredMs: readonly number[];
  /** By the clock that the processes of one machine agree on. */
  readonly startedAtMs: number;
  /** Requests that found no free connection and were not sent: the generator was too small for the load. */
  readonly unsent: number;
}

/** How long the last phase may go on for callers who have not come back. */
const mostExtraMs = 15_000;

export async function openLoop(load: OpenLoad): Promise<OpenLoadResult> {
  const loop = new OpenLoop(load);
  await loop.open();
  try {
    return await loop.run();
  } finally {
    loop.close();
  }
}

interface Client {
  readonly request: Request;
  connection: Connection | undefined;
  sentMs: number;
  turn: number;
  phase: number;
  isBack: boolean;
}

class PhaseCount {
  sent = 0;
  answered = 0;
  succeeded = 0;
  cameBack = 0;
  cameBackServed = 0;
  startedMs = 0;
  endedMs = Number.POSITIVE_INFINITY;
  readonly served: Record<string, number> = {};
  readonly servedUs = new Samples();
  readonly refusedUs = new Samples();

  countedFromMs(durationMs: number): number {
    return this.startedMs + durationMs / 4;
  }
}

class OpenLoop {
  readonly #load: OpenLoad;
  readonly #all: Client[] = [];
  readonly #free: Client[] = [];
  readonly #counts: PhaseCount[];
  readonly #retryAfterS = new Samples();
  readonly #answered: number[] = [];
  #phase = 0;
  #turns = 0;
  #refused = 0;
  #unsent = 0;
  #toComeBack = 0;
  #startedMs = 0;
  #failure: Error | undefined;

  constructor(load: OpenLoad) {
    this.#load = load;
    this.#counts = load.phases.map(() => new PhaseCount());
  }

  async open(): Promise<void> {
    for (let n = 0; n < this.#load.connections; n += 1) {
      const client: Client = {
        request: new Request(this.#load.request),
        connection: undefined,
        sentMs: 0,
        turn: 0,
        phase: 0,
        isBack: false,
      };
      this.#all.push(client);
      this.#free.push(client);
      client.connection = await Connection.open(this.#load.port, {
        answer: (answer) => this.#onAnswer(client, answer),
        lost: (error) => (this.#failure ??= error),
      });
    }
  }

  async run(): Promise<OpenLoadResult> {
    const startedAtMs = sharedNowMs();
    this.#startedMs = performance.now();
    for (const [index, phase] of this.#load.phases.entries()) {
      const isLast = index === this.#load.phases.length - 1;
      await this.#runPhase(index, phase, isLast ? mostExtraMs : 0);
    }
    await this.#until(() => this.#free.length === this.#all.length, mostExtraMs);
    return {
      phases: this.#load.phases.map((phase, index) => this.#resultOf(index, phase)),
      retryAfterS: this.#retryAfterS.toArray(),
      answeredMs: this.#answered,
      startedAtMs,
      unsent: this.#unsent,
    };
  }

  close(): void {
    for (const { connection } of this.#all) connection?.close();
  }

  async #runPhase(index: number, { perSecond, durationMs }: Phase, extraMs: number): Promise<void> {
    const count = this.#counts[index];
    if (!count) return;
    this.#phase = index;
    count.startedMs = performance.now();
    let due = 0;
    const isOver = (elapsedMs: number): boolean =>
      elapsedMs >= durationMs + extraMs || (elapsedMs >= durationMs && (extraMs === 0 || !this.#mayComeBack(index)));
    const sendUntil = (elapsedMs: number): void => {
      const wanted = Math.floor((elapsedMs * perSecond) / 1_000);
      for (; due < wanted; due += 1) this.#send(false);
    };
    for (let elapsedMs = 0; !isOver(elapsedMs); elapsedMs = performance.now() - count.startedMs) {
      sendUntil(elapsedMs);
      await nextTick();
      if (this.#failure) throw this.#failure;
    }
    // On a busy machine the last turn comes late: everything that was promised is sent all the same.
    sendUntil(durationMs);
    count.endedMs = performance.now();
  }

  /** Whether a refused request of an earlier phase, or one that may still be refused, has not come back. */
  #mayComeBack(phase: number): boolean {
    if (this.#load.oneInComesBack === undefined) return false;
    return this.#toComeBack > 0 || this.#counts.slice(0, phase).some(({ sent, answered }) => answered < sent);
  }

  #send(isBack: boolean): void {
    // The one that has rested longest: servers close connections that nobody uses, most of them after five seconds.
    const client = this.#free.shift();
    if (!client) {
      this.#unsent += 1;
      return;
    }
    client.phase = this.#phase;
    client.isBack = isBack;
    client.turn = this.#turns;
    this.#turns += 1;
    client.request.stamp((this.#load.firstNumber ?? 0) + client.turn * client.request.numbers);
    const count = this.#counts[client.phase];
    if (count) count.sent += 1;
    client.sentMs = performance.now();
    client.connection?.send(client.request.bytes);
  }

  #onAnswer(client: Client, { head }: Message): void {
    const nowMs = performance.now();
    const status = statusOf(head);
    const count = this.#counts[client.phase];
    const now = this.#counts[this.#phase];
    if (!count || !now) return;
    count.answered += 1;
    if (client.request.numbers > 0) this.#answered[client.turn] = nowMs - this.#startedMs;
    const us = (nowMs - client.sentMs) * 1_000;
    const isRefused = status === 429;
    if (isRefused) count.refusedUs.push(us);
    else {
      count.servedUs.push(us);
      count.served[status] = (count.served[status] ?? 0) + 1;
    }
    const durationMs = this.#load.phases[this.#phase]?.durationMs ?? 0;
    if (status < 300 && nowMs >= now.countedFromMs(durationMs) && nowMs < now.endedMs) now.succeeded += 1;
    if (client.isBack) {
      count.cameBack += 1;
      if (!isRefused) count.cameBackServed += 1;
    } else if (isRefused) this.#refuse(head);
    this.#free.push(client);
  }

  #refuse(head: string): void {
    this.#refused += 1;
    const seconds = Number(headerOf(head, 'retry-after'));
    this.#retryAfterS.push(seconds);
    const { oneInComesBack } = this.#load;
    const isChosen = oneInComesBack !== undefined && this.#refused % oneInComesBack === 0;
    if (!isChosen || Number.isNaN(seconds)) return;
    this.#toComeBack += 1;
    setTimeout(() => {
      this.#toComeBack -= 1;
      this.#send(true);
    }, seconds * 1_000);
  }

  #resultOf(index: number, { durationMs }: Phase): PhaseResult {
    const count = this.#counts[index] ?? new PhaseCount();
    return {
      sent: count.sent,
      served: count.served,
      servedUs: count.servedUs.toArray(),
      refusedUs: count.refusedUs.toArray(),
      succeededPerSecond: count.succeeded / ((count.endedMs - count.countedFromMs(durationMs)) / 1_000),
      cameBack: count.cameBack,
      cameBackServed: count.cameBackServed,
    };
  }

  async #until(isSo: () => boolean, withinMs: number): Promise<void> {
    const deadlineMs = performance.now() + withinMs;
    while (!isSo() && performance.now() < deadlineMs) {
      await nextTick();
      if (this.#failure) throw this.#failure;
    }
  }
}

/** A millisecond, the least that a timer can wait. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
