import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { EventHubProducerClient, type EventData } from '@azure/event-hubs';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { startAzurite, startEventHubsEmulator, type EventHubsEmulator } from '@drover/trigger-sources/testing';
import { describe, expect, it } from 'vitest';
import { app, startRuntime, type LogLine, type Runtime } from '../support/functions.js';
import { sized } from '../support/tier.js';

const events = sized(2_000, 10_000);
const perSend = 25;
setMaxListeners(0, new AbortController().signal);

interface LedgerLine {
  readonly n: number;
  readonly partition: string;
  /** Number of the event in its partition. */
  readonly number: number;
  readonly at: number;
}

/** The lines that functions wrote; a line that a kill cut off is not a run that anything relies on. */
function readLedger(file: string): LedgerLine[] {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as LedgerLine] : []));
}

/** With a client of its own: one whose connection was cut in the middle may neither send nor close any more. */
async function sendOnce(connectionString: string, batch: EventData[], partitionKey: string): Promise<boolean> {
  const retryOptions = { maxRetries: 0, timeoutInMs: 3_000 };
  const producer = new EventHubProducerClient(connectionString, 'ledger', { retryOptions });
  const signal = AbortSignal.timeout(5_000);
  const late = new Promise<false>((resolve) => signal.addEventListener('abort', () => resolve(false)));
  try {
    return await Promise.race([producer.sendBatch(batch, { partitionKey }).then(() => true), late]);
  } finally {
    producer.close().catch(() => undefined);
  }
}

/** Sends all numbers, each until it is accepted. One whose answer was lost may be in the hub twice. */
async function sendAll(connectionString: string): Promise<void> {
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < events) {
      const first = next;
      next += perSend;
      const batch = Array.from({ length: perSend }, (_, index) => ({ body: { n: first + index } }));
      await eventually(() => sendOnce(connectionString, batch, `key ${first % 100}`));
    }
  };
  await Promise.all([send(), send()]);
}

interface Cause {
  readonly kind: string | undefined;
  readonly at: number;
  /** Number of the runtime that logged it. */
  readonly runtime: number;
}

/** Two runtimes that share their checkpoints, and a durable emulator. */
class World {
  readonly #all: Runtime[] = [];
  readonly #directory: string;
  readonly #storage: string;
  #emulator: EventHubsEmulator | undefined;
  #runtimes: Runtime[] = [];

  constructor(directory: string, storage: string) {
    this.#directory = directory;
    this.#storage = storage;
  }

  get ledger(): string {
    return path.join(this.#directory, 'ledger');
  }

  get connectionString(): string {
    return this.#emulator?.connectionString ?? '';
  }

  /** What runtimes logged about why events of a partition run again, in the order of time; also of runtimes that were killed. */
  causes(partition: string): readonly Cause[] {
    const isCause = ({ kind = '', partitionId }: LogLine): boolean =>
      /^event-hub\.(claimed|released|redelivered)$/.test(kind) && partitionId === partition;
    return this.#all
      .flatMap(({ log }, runtime) =>
        log.filter(isCause).map(({ kind, time }) => ({ kind, at: Date.parse(time), runtime })),
      )
      .toSorted((one, other) => one.at - other.at);
  }

  async start(): Promise<void> {
    await this.#startEmulator();
    this.#runtimes = await Promise.all([this.#startRuntime(), this.#startRuntime()]);
  }

  /** All workers of both runtimes die. */
  killWorkers(): void {
    for (const runtime of this.#runtimes) for (const worker of runtime.workers) process.kill(worker, 'SIGKILL');
  }

  async killEmulator(): Promise<void> {
    const port = this.#emulator?.port;
    this.#emulator?.child.kill('SIGKILL');
    await this.#emulator?.child.exited;
    await this.#startEmulator(port);
  }

  /** One runtime dies, and another takes its place later: partitions move twice. */
  async killRuntime(): Promise<void> {
    const [victim, ...others] = this.#runtimes;
    victim?.child.kill('SIGKILL');
    await victim?.child.exited;
    this.#runtimes = others;
  }

  async addRuntime(): Promise<void> {
    this.#runtimes.push(await this.#startRuntime());
  }

  async stop(): Promise<void> {
    await Promise.all(this.#runtimes.map((runtime) => runtime.stop()));
    await this.#emulator?.stop();
  }

  async #startRuntime(): Promise<Runtime> {
    const env = {
      AzureWebJobsStorage: this.#storage,
      EventHubs: this.connectionString,
      LEDGER_FILE: this.ledger,
      DROVER_EMULATORS: 'off', // else a runtime would start one in the place of the killed one
    };
    const runtime = await startRuntime({ apps: [app('event-hub-ledger')], env });
    this.#all.push(runtime);
    return runtime;
  }

  async #startEmulator(port = 0): Promise<void> {
    this.#emulator = await startEventHubsEmulator(path.join(this.#directory, 'hubs'), port);
  }
}

describe('an event hub function while everything is killed', () => {
  it(`runs each of ${events} events, and every repeat is a redelivery or a handover that was logged`, ({ annotate }) =>
    withScratchDirectory(async (directory) => {
      const azurite = await startAzurite('all', ['--skipApiVersionCheck']);
      const world = new World(directory, azurite.connectionString);
      try {
        await world.start();
        const sending = sendAll(world.connectionString);
        const runs = (): number => readLedger(world.ledger).length;
        const reach = (share: number): Promise<unknown> => eventually(() => runs() > share * events);
        for (const share of [0.1, 0.5]) {
          await reach(share);
          world.killWorkers();
          await reach(share + 0.1);
          await world.killEmulator();
          await reach(share + 0.2);
          await world.killRuntime();
          await reach(share + 0.3);
          await world.addRuntime();
        }
        await sending;
        const ran = (): Set<number> => new Set(readLedger(world.ledger).map(({ n }) => n));
        await eventually(() => ran().size === events);
        const repeats = repeatsOf(readLedger(world.ledger));
        const causes = new Map(['0', '1', '2', '3'].map((partition) => [partition, world.causes(partition)]));
        const unexplained = repeats.filter(([before, after]) => {
          const known = causes.get(after.partition) ?? [];
          return !known.some(({ at }) => at >= before.at && at <= after.at) && !hasTwoOwners(known, before.at);
        });
        expect(unexplained).toEqual([]);
        await annotate(`${repeats.length} repeats of ${events} events in 6 kills and 2 starts`);
      } finally {
        await world.stop();
        await azurite.stop();
      }
    }));
});

/** Tells whether another runtime had claimed the partition at that time, and its former owner had not noticed yet. */
function hasTwoOwners(causes: readonly Cause[], time: number): boolean {
  const claimed = causes.findLast(({ kind, at }) => kind === 'event-hub.claimed' && at <= time);
  if (!claimed) return false;
  const released = causes.find(
    ({ kind, at, runtime }) => kind === 'event-hub.released' && at >= claimed.at && runtime !== claimed.runtime,
  );
  return released !== undefined && released.at >= time;
}

/** Pairs of runs of the same event, one after the other. */
function repeatsOf(ledger: readonly LedgerLine[]): [LedgerLine, LedgerLine][] {
  const last = new Map<string, LedgerLine>();
  const repeats: [LedgerLine, LedgerLine][] = [];
  for (const line of ledger) {
    const id = `${line.partition}/${line.number}`;
    const before = last.get(id);
    if (before) repeats.push([before, line]);
    last.set(id, line);
  }
  return repeats;
}
