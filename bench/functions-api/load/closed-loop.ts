import { sharedNowMs } from '../../harness/clock.js';
import { cpuMsOf } from '../../harness/process-facts.js';
import { Connection } from './connection.js';
import { statusOf, type Message } from './message-reader.js';
import { Request, type RequestSpec } from './request.js';
import { Samples } from './samples.js';

/** As many requests as get through with so many connections, each of which waits for its answer before it goes on. */
export interface ClosedLoad {
  readonly port: number;
  readonly request: RequestSpec;
  readonly connections: number;
  readonly until: { readonly durationMs: number } | { readonly requests: number };
  /** Any other answer fails the load. */
  readonly expectedStatus: number;
  /** The first number that requests are stamped with. */
  readonly firstNumber?: number;
  /** A process whose CPU time is wanted. */
  readonly serverPid?: number;
}

export interface ClosedLoadResult {
  readonly calls: number;
  readonly perSecond: number;
  readonly latenciesUs: readonly number[];
  /** When each answer came, in the order of the requests' numbers; after `startedAtMs`. */
  readonly answeredMs: readonly number[];
  /** By the clock that the processes of one machine agree on. */
  readonly startedAtMs: number;
  /** undefined where the system does not tell. */
  readonly serverCpuMs: number | undefined;
  readonly ownCpuMs: number;
}

export async function closedLoop(load: ClosedLoad): Promise<ClosedLoadResult> {
  const loop = new ClosedLoop(load);
  await loop.open();
  try {
    return await loop.run();
  } finally {
    loop.close();
  }
}

class ClosedLoop {
  readonly #load: ClosedLoad;
  readonly #clients: Client[] = [];
  readonly #latencies = new Samples();
  readonly #answered: number[] = [];
  #sent = 0;
  #startedMs = 0;
  #running = 0;
  #finish: () => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  constructor(load: ClosedLoad) {
    this.#load = load;
  }

  async open(): Promise<void> {
    for (let n = 0; n < this.#load.connections; n += 1) {
      const client: Client = { request: new Request(this.#load.request), connection: undefined, sentMs: 0, turn: 0 };
      this.#clients.push(client);
      client.connection = await Connection.open(this.#load.port, {
        answer: (answer) => this.#onAnswer(client, answer),
        lost: (error) => this.#fail(error),
      });
    }
  }

  async run(): Promise<ClosedLoadResult> {
    const { serverPid } = this.#load;
    const finished = new Promise<void>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    const serverBeforeMs = serverPid === undefined ? undefined : cpuMsOf(serverPid);
    const ownBefore = process.cpuUsage();
    const startedAtMs = sharedNowMs();
    this.#startedMs = performance.now();
    this.#running = this.#clients.length;
    for (const client of this.#clients) this.#next(client);
    await finished;
    const elapsedMs = performance.now() - this.#startedMs;
    const own = process.cpuUsage(ownBefore);
    const serverAfterMs = serverPid === undefined ? undefined : cpuMsOf(serverPid);
    return {
      calls: this.#latencies.length,
      perSecond: this.#latencies.length / (elapsedMs / 1_000),
      latenciesUs: this.#latencies.toArray(),
      answeredMs: this.#answered,
      startedAtMs,
      serverCpuMs:
        serverAfterMs === undefined || serverBeforeMs === undefined ? undefined : serverAfterMs - serverBeforeMs,
      ownCpuMs: (own.user + own.system) / 1_000,
    };
  }

  close(): void {
    for (const { connection } of this.#clients) connection?.close();
  }

  #next(client: Client): void {
    const { until, firstNumber = 0 } = this.#load;
    const nowMs = performance.now();
    const isOver = 'requests' in until ? this.#sent >= until.requests : nowMs - this.#startedMs >= until.durationMs;
    if (isOver) {
      this.#running -= 1;
      if (this.#running === 0) this.#finish();
      return;
    }
    client.turn = this.#sent;
    this.#sent += 1;
    client.request.stamp(firstNumber + client.turn * client.request.numbers);
    client.sentMs = nowMs;
    client.connection?.send(client.request.bytes);
  }

  #onAnswer(client: Client, { head, body }: Message): void {
    const nowMs = performance.now();
    if (statusOf(head) !== this.#load.expectedStatus) {
      this.#fail(new Error(`expected ${this.#load.expectedStatus}, got:\n${head}\n\n${body.toString()}`));
      return;
    }
    this.#latencies.push((nowMs - client.sentMs) * 1_000);
    if (client.request.numbers > 0) this.#answered[client.turn] = Math.round((nowMs - this.#startedMs) * 1_000) / 1_000;
    this.#next(client);
  }
}

interface Client {
  readonly request: Request;
  connection: Connection | undefined;
  sentMs: number;
  turn: number;
}
