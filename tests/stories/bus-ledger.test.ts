import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus';
import { startBusEmulator, type BusEmulator } from '@drover/trigger-sources/testing';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { app, startRuntime, type Runtime } from '../support/functions.js';
import { sized } from '../support/tier.js';

const messages = sized(2_000, 10_000);
const sessions = 5;
const perSession = 40;
const batch = 250;
const entities = {
  queues: [
    { name: 'ledger', lockDurationMs: 3_000, maxDeliveryCount: 1_000 },
    { name: 'ordered', lockDurationMs: 3_000, maxDeliveryCount: 1_000, requiresSession: true },
    { name: 'mixed', lockDurationMs: 60_000, maxDeliveryCount: 10 }, // no lock ends by itself
  ],
};

/** A durable emulator on the same port after each restart. */
class KillableBus {
  readonly #directory: string;
  #emulator: BusEmulator | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(): Promise<string> {
    const port = this.#emulator?.port ?? 0;
    this.#emulator = await startBusEmulator({ directory: this.#directory, port, entities });
    return this.#emulator.connectionString;
  }

  async kill(): Promise<void> {
    this.#emulator?.child.kill('SIGKILL');
    await this.#emulator?.child.exited;
  }

  async end(): Promise<void> {
    await this.#emulator?.stop();
  }
}

/** The runtime must not start an emulator of its own while ours is down. */
function environment(connectionString: string, file: string): NodeJS.ProcessEnv {
  return { Bus: connectionString, LEDGER_FILE: file, DROVER_EMULATORS: 'off' };
}

interface LedgerLine {
  readonly n?: number;
  readonly sequenceNumber?: number;
  readonly sessionId?: string;
  readonly mixed?: number;
  readonly deliveryCount: number;
}

/** The lines that functions wrote; a line that a kill cut off is not a run that anything relies on. */
function readLedger(file: string): LedgerLine[] {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as LedgerLine] : []));
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

/** Sends batch by batch, each until it is accepted. A batch whose first answer was lost may be in the queue twice. */
async function sendAll(connectionString: string, queue: string, all: readonly ServiceBusMessage[]): Promise<void> {
  for (let at = 0; at < all.length; at += batch) {
    const some = all.slice(at, at + batch);
    await eventually(async () => {
      const client = new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs: 3_000 } });
      try {
        await client.createSender(queue).sendMessages([...some], { abortSignal: AbortSignal.timeout(5_000) });
        return true;
      } finally {
        // A client that was connecting when the emulator was killed may wait for ever, also in its end.
        void client.close().catch(() => undefined);
      }
    });
  }
}

async function isEmpty(connectionString: string, path: string): Promise<boolean> {
  const client = new ServiceBusClient(connectionString);
  try {
    return (await client.createReceiver(path).peekMessages(1)).length === 0;
  } finally {
    await client.close();
  }
}

describe('Service Bus functions while everything is killed', () => {
  it(`run each of ${messages} messages, sessions in order, and every repeat is a counted redelivery`, ({ annotate }) =>
    withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'ledger');
      const bus = new KillableBus(path.join(directory, 'bus'));
      const connectionString = await bus.start();
      const start = (): Promise<Runtime> =>
        startRuntime({ apps: [app('bus-ledger')], env: environment(connectionString, file) });
      let runtime = await start();
      try {
        const numbered = Array.from({ length: messages }, (_, n) => ({ body: json({ n }) }));
        const ordered = Array.from({ length: sessions * perSession }, (_, n) => ({
          body: json({ n: Math.floor(n / sessions) }),
          sessionId: `s${n % sessions}`,
        }));
        const sending = sendAll(connectionString, 'ledger', numbered);
        await sendAll(connectionString, 'ordered', ordered);
        const runs = (): number => readFileSync(file, { encoding: 'latin1', flag: 'a+' }).split('\n').length;
        for (const share of [0.1, 0.5]) {
          await eventually(() => runs() > share * messages);
          for (const worker of runtime.workers) process.kill(worker, 'SIGKILL');
          await eventually(() => runs() > (share + 0.1) * messages);
          await bus.kill();
          await bus.start();
          await eventually(() => runs() > (share + 0.2) * messages);
          runtime.child.kill('SIGKILL');
          await runtime.child.exited;
          runtime = await start();
        }
        await sending;
        await eventually(() => isEmpty(connectionString, 'ledger'));
        await eventually(() => isEmpty(connectionString, 'ordered'));
        const ledger = readLedger(file);
        const single = ledger.filter(({ sequenceNumber }) => sequenceNumber !== undefined);
        const ran = new Set(single.map(({ n }) => n));
        expect(Array.from({ length: messages }, (_, n) => n).filter((n) => !ran.has(n))).toEqual([]);
        const counted = new Set(
          single.map(({ sequenceNumber, deliveryCount }) => `${sequenceNumber} ${deliveryCount}`),
        );
        expect(counted.size).toBe(single.length);
        expectInOrder(ledger);
        await annotate(`${single.length - messages} repeats of ${messages} messages in 6 kills`);
      } finally {
        await runtime.stop();
        await bus.end();
      }
    }));

  it('are not delayed by a message that always fails, which ends in the dead letters', () =>
    withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'ledger');
      const bus = new KillableBus(path.join(directory, 'bus'));
      const connectionString = await bus.start();
      const bodies = [-1, ...Array.from({ length: 300 }, (_, n) => n)];
      await sendAll(
        connectionString,
        'mixed',
        bodies.map((n) => ({ body: json({ n }) })),
      );
      const runtime = await startRuntime({
        apps: [app('bus-ledger')],
        env: environment(connectionString, file),
      });
      try {
        await eventually(() => isEmpty(connectionString, 'mixed'));
        const lines = readLedger(file);
        expect(new Set(lines.map(({ mixed }) => mixed)).size).toBe(bodies.length);
        expect(lines.filter(({ mixed }) => mixed === -1).map(({ deliveryCount }) => deliveryCount)).toEqual([
          1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
        ]);
        expect(lines.filter(({ mixed = 0, deliveryCount }) => mixed >= 0 && deliveryCount > 1)).toEqual([]);
        await eventually(async () => !(await isEmpty(connectionString, 'mixed/$DeadLetterQueue')));
      } finally {
        await runtime.stop();
        await bus.end();
      }
    }));
});

/** A message may run again, but never before one that has not run yet. */
function expectInOrder(ledger: readonly LedgerLine[]): void {
  for (let session = 0; session < sessions; session++) {
    const order = ledger.flatMap(({ sessionId, n }) => (sessionId === `s${session}` && n !== undefined ? [n] : []));
    const firstRuns = order.filter((n, at) => order.indexOf(n) === at);
    expect(firstRuns).toEqual(Array.from({ length: perSession }, (_, n) => n));
  }
}
