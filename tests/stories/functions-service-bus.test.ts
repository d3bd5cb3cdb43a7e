import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ServiceBusClient, type ServiceBusMessage, type ServiceBusReceivedMessage } from '@azure/service-bus';
import { busConnectionString, startBusEmulator } from '@drover/trigger-sources/testing';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../support/free-ports.js';
import { app, withRuntime, type Runtime } from '../support/functions.js';

const entities = {
  queues: [{ name: 'one' }, { name: 'slow', lockDurationMs: 3_000 }, { name: 'answers', requiresSession: true }],
  topics: [{ name: 'many', subscriptions: [{ name: 'all', rules: [] }] }],
};

async function send(
  connectionString: string,
  entity: string,
  ...messages: readonly ServiceBusMessage[]
): Promise<void> {
  const client = new ServiceBusClient(connectionString);
  await client.createSender(entity).sendMessages([...messages]);
  await client.close();
}

async function peek(connectionString: string, entity: string): Promise<ServiceBusReceivedMessage[]> {
  const client = new ServiceBusClient(connectionString);
  const messages = await client.createReceiver(entity).peekMessages(100);
  await client.close();
  return messages;
}

/** A runtime with the functions, which tell a file what they saw. */
function withFunctions(
  connectionString: string,
  use: (runtime: Runtime, saw: () => unknown[]) => Promise<void>,
): Promise<void> {
  return withScratchDirectory((directory) => {
    const file = path.join(directory, 'ledger');
    const saw = (): unknown[] =>
      readFileSync(file, { encoding: 'utf8', flag: 'a+' })
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
    const env = { Bus: connectionString, LEDGER_FILE: file, DROVER_EMULATORS: 'off' };
    return withRuntime({ apps: [app('service-bus')], env }, (runtime) => use(runtime, saw));
  });
}

const healthOf = async (runtime: Runtime): Promise<unknown> => (await runtime.call('/health')).json();
/** Messages that are settled, or whose settlement has failed for good. */
const settledBy = async (runtime: Runtime): Promise<number> => {
  const text = await (await runtime.call('/metrics')).text();
  const ends = text.matchAll(/^drover_service_bus_(?:completed|locks_lost|settlements_failed)_total\{.*\} (\d+)$/gm);
  return [...ends].reduce((total, [, count]) => total + Number(count), 0);
};
const warnings = (runtime: Runtime, kind: string): string[] =>
  runtime.log.flatMap((line) => (line.kind === kind ? [line.msg] : []));

describe('functions of Service Bus', () => {
  it('wait for a namespace that is down, at the start and later, and go on by themselves', async () => {
    const [port = 0] = await freePorts(1);
    const connectionString = busConnectionString(port);
    await withFunctions(connectionString, async (runtime, saw) => {
      await eventually(async () => expect(await healthOf(runtime)).toMatchObject({ status: 'degraded' }));
      await eventually(() => expect(warnings(runtime, 'service-bus.unavailable')).toHaveLength(3));
      for (const warning of warnings(runtime, 'service-bus.unavailable')) expect(warning).toContain('the setting Bus');
      const first = await startBusEmulator({ port, entities });
      await send(connectionString, 'one', { body: 1 });
      await eventually(() => expect(saw()).toEqual([{ saw: 1, deliveryCount: 1 }]));
      await eventually(async () => expect(await healthOf(runtime)).toMatchObject({ status: 'healthy' }));
      first.child.kill('SIGKILL');
      await first.child.exited;
      await eventually(async () => expect(await healthOf(runtime)).toMatchObject({ status: 'degraded' }));
      const second = await startBusEmulator({ port, entities });
      await send(connectionString, 'one', { body: 2 });
      await eventually(() => expect(saw()).toContainEqual({ saw: 2, deliveryCount: 1 }));
      // A runtime that stops waits for settlements, so both must be over before the namespace is down again: the emulator is done with a
      // message before the runtime knows that.
      await eventually(async () => expect(await settledBy(runtime)).toBe(2));
      await second.stop();
    });
  });

  it('say once which setting has the wrong key, and never the key', async () => {
    const emulator = await startBusEmulator({ entities, key: 'cmlnaHQ=' });
    await withFunctions(busConnectionString(emulator.port, 'd3Jvbmcga2V5'), async (runtime) => {
      await eventually(() => expect(warnings(runtime, 'service-bus.unavailable')).toHaveLength(3));
      for (const warning of warnings(runtime, 'service-bus.unavailable'))
        expect(warning).toContain('access is denied; check the key in the setting Bus');
      expect([...runtime.child.stdout, ...runtime.child.stderr].join('\n')).not.toContain('d3Jvbmcga2V5');
    });
    await emulator.stop();
  });

  it('lose the lock of a message that runs too long: counted, not settled twice, and delivered again', async () => {
    const emulator = await startBusEmulator({ entities });
    await withFunctions(emulator.connectionString, async (runtime, saw) => {
      await send(emulator.connectionString, 'slow', { body: 'x' });
      await eventually(async () => expect(await peek(emulator.connectionString, 'slow')).toEqual([]));
      expect(saw()).toEqual([
        { slow: 'x', deliveryCount: 1 },
        { slow: 'x', deliveryCount: 2 },
      ]);
      await eventually(async () => {
        const metrics = await (await runtime.call('/metrics')).text();
        for (const name of ['locks_lost', 'redelivered', 'completed'])
          expect(metrics).toMatch(
            new RegExp(`^drover_service_bus_${name}_total\\{function="slow",entity="slow".*\\} 1$`, 'm'),
          );
      });
    });
    await emulator.stop();
  });

  it('get batches with arrays of metadata, and answer with properties and sessions', async () => {
    const emulator = await startBusEmulator({ entities });
    const { connectionString } = emulator;
    await withFunctions(connectionString, async () => {
      const numbers = [1, 2, 3];
      await send(
        connectionString,
        'many',
        ...numbers.map((n) => ({ body: { n }, messageId: `m${n}`, applicationProperties: { n } })),
      );
      await eventually(async () => expect(await peek(connectionString, 'answers')).toHaveLength(3));
      const answers = await peek(connectionString, 'answers');
      expect(
        answers.map(({ body, sessionId, correlationId, applicationProperties }) => ({
          body: body as unknown,
          sessionId,
          correlationId,
          applicationProperties,
        })),
      ).toEqual(
        numbers.map((n) => ({ body: { n }, sessionId: 's', correlationId: `m${n}`, applicationProperties: { n } })),
      );
    });
    await emulator.stop();
  });
});
