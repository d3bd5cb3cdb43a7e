import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ServiceBusClient, ServiceBusSender } from '@azure/service-bus';
import type { Contender } from '../harness/rounds.js';
import type { Pace } from './pace.js';
import type { Reports } from './reports.js';
import type { ScaledPlatform } from './scaled-platform.js';

/** The pool replaces a placeholder that was used; the next cold start shall find one. */
const replenishMs = 400;

/** First calls of applications at zero on one platform, one after the other. */
export class WakeUps {
  readonly #platform: ScaledPlatform;
  readonly #reports: Reports;
  readonly #bus: ServiceBusClient;
  readonly #senders = new Map<string, ServiceBusSender>();
  readonly #names: readonly string[];
  #next = 0;

  private constructor(platform: ScaledPlatform, reports: Reports, bus: ServiceBusClient, names: readonly string[]) {
    this.#platform = platform;
    this.#reports = reports;
    this.#bus = bus;
    this.#names = names;
  }

  static async open(platform: ScaledPlatform, reports: Reports, { applications }: Pace): Promise<WakeUps> {
    const names = Array.from({ length: applications }, (_, index) => `app-${index}`);
    for (const name of names) await platform.deploy(name);
    const { ServiceBusClient: Client } = await import('@azure/service-bus');
    const wakeUps = new WakeUps(platform, reports, new Client(platform.serviceBus), names);
    // Both ways once for each: what a platform compiles and connects once is not a cold start.
    for (const name of names) {
      await platform.untilAtZero(name);
      await platform.call(name);
      await wakeUps.#send(name);
    }
    return wakeUps;
  }

  /** Milliseconds from a request to its response. */
  http(count: number): Promise<number[]> {
    return this.#several(count, (name) => this.#platform.call(name));
  }

  /** Milliseconds from the call of `send` until the function has run. */
  bus(count: number): Promise<number[]> {
    return this.#several(count, (name) => this.#send(name));
  }

  async close(): Promise<void> {
    await this.#bus.close();
  }

  async #several(count: number, wake: (name: string) => Promise<unknown>): Promise<number[]> {
    const samples: number[] = [];
    while (samples.length < count) {
      const name = this.#names[this.#next++ % this.#names.length] ?? '';
      await this.#platform.untilAtZero(name);
      await pause(replenishMs);
      await this.#platform.connect();
      const startedMs = performance.now();
      await wake(name);
      samples.push(performance.now() - startedMs);
    }
    return samples;
  }

  async #send(name: string): Promise<void> {
    const sender = this.#senders.get(name) ?? this.#bus.createSender(`cold-${name}`);
    this.#senders.set(name, sender);
    const body = randomUUID();
    const ran = this.#reports.of(body);
    await sender.sendMessages({ body });
    await ran;
  }
}

const echo = fileURLToPath(new URL('./programs/echo.js', import.meta.url));

/** The floor of every start without a placeholder: a bare process of Node.js and its first message. */
export function forkContender({ coldStarts }: Pace): Contender<number[]> {
  return {
    name: 'bare fork',
    run: async () => {
      const samples: number[] = [];
      while (samples.length < coldStarts) samples.push(await forkOnce());
      return samples;
    },
  };
}

function forkOnce(): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const child = fork(echo);
    child.once('error', reject);
    child.once('message', () => {
      const took = performance.now() - startedMs;
      child.once('exit', () => resolve(took));
      child.disconnect();
    });
    child.send('first');
  });
}
