import path from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';

const total = 10_000;
const perSend = 20;
const kills = 5;
const program = path.resolve(import.meta.dirname, '../../dist/service-bus/testing/service-bus-process.js');

/** Everything that clients saw, and what of it breaks a promise. */
class Ledger {
  readonly accepted = new Set<string>();
  /** Messages whose completion was asked for: a kill between the record of a completion and its answer leaves only this trace. */
  readonly completing = new Set<string>();
  readonly completed = new Set<string>();
  readonly broken: string[] = [];
  repeats = 0;
  readonly #receptions = new Map<number, { readonly id: string; times: number; isCompleted: boolean }>();

  receive(id: string, sequenceNumber: number, deliveryCount: number): void {
    const earlier = this.#receptions.get(sequenceNumber);
    if (earlier === undefined) {
      this.#receptions.set(sequenceNumber, { id, times: 1, isCompleted: false });
      return;
    }
    this.repeats += 1;
    if (earlier.id !== id)
      this.broken.push(`${sequenceNumber} was ${earlier.id} and is ${id}: a message seen was taken back`);
    if (earlier.isCompleted) this.broken.push(`${id} came again after its completion was confirmed`);
    if (deliveryCount < earlier.times) this.broken.push(`${id} came again with a delivery count of ${deliveryCount}`);
    earlier.times += 1;
  }

  complete(id: string, sequenceNumber: number): void {
    this.completed.add(id);
    const reception = this.#receptions.get(sequenceNumber);
    if (reception !== undefined) reception.isCompleted = true;
  }
}

/** The emulator under test. `died` rejects when it is killed: calls of the SDK that were under way can take a minute to notice. */
class Victim {
  child: Child;
  port: string;
  died: Promise<never>;
  #onDeath: (error: Error) => void = () => undefined;

  private constructor(child: Child, port: string) {
    this.child = child;
    this.port = port;
    this.died = this.#nextDeath();
  }

  static async start(directory: string): Promise<Victim> {
    const child = startEmulator(directory, '0');
    return new Victim(child, await portOf(child));
  }

  async killAndRestart(directory: string): Promise<void> {
    this.child.kill('SIGKILL');
    await this.child.exited;
    this.child = startEmulator(directory, this.port);
    await portOf(this.child);
    const announce = this.#onDeath;
    this.died = this.#nextDeath();
    announce(new Error('the emulator was killed'));
  }

  #nextDeath(): Promise<never> {
    const died = new Promise<never>((_, reject) => {
      this.#onDeath = reject;
    });
    died.catch(() => undefined);
    return died;
  }
}

const startEmulator = (directory: string, port: string): Child =>
  new Child(process.execPath, [program, directory, port], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
const portOf = async (child: Child): Promise<string> => (await child.line(/^port \d+$/)).slice(5);

const connect = ({ port }: Victim): ServiceBusClient =>
  new ServiceBusClient(
    `Endpoint=sb://localhost:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`,
    { retryOptions: { maxRetries: 0, timeoutInMs: 2_000 } },
  );

/** Tells that no message is left, locked ones included. A client remembers how far it has peeked, so each look takes a new one. */
async function isEmpty(victim: Victim): Promise<boolean> {
  const client = connect(victim);
  const messages = await client.createReceiver('ledger').peekMessages(1);
  await client.close();
  return messages.length === 0;
}

/** Repeats a step, with a new client each time the emulator was killed, until the step says that it is done. */
async function persist(victim: Victim, step: (client: ServiceBusClient) => Promise<boolean>): Promise<void> {
  for (;;) {
    const { died } = victim;
    const client = connect(victim);
    try {
      while (!(await Promise.race([step(client), died])));
      await client.close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50)); // it may be down: no hot loop
      void client.close().catch(() => undefined);
    }
  }
}

describe('a durable Service Bus that is killed again and again', () => {
  it('loses none of 10,000 messages, and counts every repeated delivery', () =>
    withScratchDirectory(async (directory) => {
      const victim = await Victim.start(directory);
      const ledger = new Ledger();
      let next = 0;
      const sending = persist(victim, async (client) => {
        const sender = client.createSender('ledger');
        while (next < total) {
          const ids = Array.from({ length: perSend }, (_, index) => `m${next + index}`);
          await sender.sendMessages(ids.map((messageId) => ({ messageId, body: messageId })));
          for (const id of ids) ledger.accepted.add(id);
          next += perSend;
        }
        return true;
      });
      const receivers = [1, 2].map(() =>
        persist(victim, async (client) => {
          const receiver = client.createReceiver('ledger', { maxAutoLockRenewalDurationInMs: 0 });
          const messages = await receiver.receiveMessages(100, { maxWaitTimeInMs: 500 });
          for (const { messageId, sequenceNumber, deliveryCount } of messages) {
            ledger.receive(String(messageId), sequenceNumber?.toNumber() ?? 0, deliveryCount ?? 0);
          }
          // The work of a handler: a kill nearly always meets messages in flight.
          await new Promise((resolve) => setTimeout(resolve, 50));
          await Promise.all(
            messages.map(async (message) => {
              ledger.completing.add(String(message.messageId));
              await receiver.completeMessage(message);
              ledger.complete(String(message.messageId), message.sequenceNumber?.toNumber() ?? 0);
            }),
          );
          await receiver.close();
          return ledger.completing.size === total && (await isEmpty(victim));
        }),
      );
      for (let kill = 1; kill <= kills; kill += 1) {
        await eventually(() => ledger.completed.size >= (total * kill) / (kills + 2));
        await victim.killAndRestart(directory);
      }
      await Promise.all([sending, ...receivers]);
      expect(ledger.broken).toEqual([]);
      expect(ledger.accepted.size).toBe(total);
      expect(ledger.repeats).toBeGreaterThan(0);
      await victim.child.end();
    }));
});
