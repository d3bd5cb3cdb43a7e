import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AzureQueueAccount, storageConnection, type StorageQueue } from '@drover/trigger-sources';
import { azuriteConnectionString } from '@drover/trigger-sources/testing';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { app, startRuntime, type Runtime } from '../support/functions.js';
import { sized } from '../support/tier.js';

const program = path.join(root, 'packages/azure-emulators/dist/queues/testing/queue-service-process.js');
const messages = sized(2_000, 10_000);
const never = new AbortController().signal;
setMaxListeners(0, never);

/** A durable queue emulator on the same port after each restart. */
class KillableEmulator {
  readonly #directory: string;
  #child: Child | undefined;
  #port = '0';

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(): Promise<void> {
    this.#child = new Child(process.execPath, [program, this.#directory, this.#port], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#port = (await this.#child.line(/^port \d+$/)).slice(5);
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#child?.exited;
  }

  get connectionString(): string {
    return azuriteConnectionString(`http://127.0.0.1:${this.#port}`);
  }

  async end(): Promise<void> {
    await this.#child?.end();
  }
}

interface LedgerLine {
  readonly n: number;
  readonly id: string;
  readonly dequeueCount: number;
}

/** The lines that functions wrote; a line that a kill cut off is not a run that anything relies on. */
function readLedger(file: string): LedgerLine[] {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as LedgerLine] : []));
}

/** Sends all numbers, each until it is accepted. A number whose first answer was lost may be in the queue twice. */
async function sendAll(queue: StorageQueue): Promise<void> {
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < messages) {
      const text = Buffer.from(JSON.stringify({ n: next++ })).toString('base64');
      await eventually(() => queue.send(text, { keep: 'by-default' }, never).then(() => true));
    }
  };
  await Promise.all(Array.from({ length: 16 }, send));
}

describe('a queue function while everything is killed', () => {
  it(`runs each of ${messages} messages, and every repeat is a counted redelivery`, ({ annotate }) =>
    withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'ledger');
      const emulator = new KillableEmulator(path.join(directory, 'queues'));
      await emulator.start();
      const { connectionString } = emulator;
      const settings = { AzureWebJobsStorage: connectionString };
      const connection = storageConnection({ service: 'queue', functionName: 'test', connection: undefined, settings });
      const queue = new AzureQueueAccount(connection).queue('ledger');
      await queue.create(never);
      const start = (): Promise<Runtime> =>
        startRuntime({ apps: [app('queue-ledger')], env: { ...settings, LEDGER_FILE: file } });
      let runtime = await start();
      try {
        const sending = sendAll(queue);
        const runs = (): number => readFileSync(file, { encoding: 'latin1', flag: 'a+' }).split('\n').length;
        for (const share of [0.1, 0.4, 0.7]) {
          await eventually(() => runs() > share * messages);
          for (const worker of runtime.workers) process.kill(worker, 'SIGKILL');
          await eventually(() => runs() > (share + 0.1) * messages);
          await emulator.kill();
          await emulator.start();
          await eventually(() => runs() > (share + 0.2) * messages);
          runtime.child.kill('SIGKILL');
          await runtime.child.exited;
          runtime = await start();
        }
        await sending;
        await eventually(async () => (await queue.count(never)) === 0);
        const ledger = readLedger(file);
        const ran = new Set(ledger.map(({ n }) => n));
        expect(Array.from({ length: messages }, (_, n) => n).filter((n) => !ran.has(n))).toEqual([]);
        const counted = new Set(ledger.map(({ id, dequeueCount }) => `${id} ${dequeueCount}`));
        expect(counted.size).toBe(ledger.length);
        await annotate(`${ledger.length - messages} repeats of ${messages} messages in ${3 * 3} kills`);
      } finally {
        await runtime.stop();
        await emulator.end();
      }
    }));
});
