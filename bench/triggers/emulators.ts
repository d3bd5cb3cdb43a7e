import { createServer } from 'node:net';
import { Program } from '../harness/program.js';
import { median, medianRatio } from '../harness/statistics.js';
import { atLeast, below, type Figure, times } from '../harness/table.js';
import type { AzuriteRequest } from './programs/azurite-queues.js';
import type { EmulatorsAnswer, EmulatorsRequest } from './programs/emulators-server.js';
import type { PeerAnswer } from './programs/amqp-emulator-server.js';
import type { LoadAnswer, LoadRequest } from './programs/sdk-load.js';
import type { Measurement, Surroundings } from './suite.js';

const azuriteAccount =
  'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;';

const programOf = (name: string): URL => new URL(`programs/${name}.js`, import.meta.url);
const perSecond = (count: number, answers: readonly LoadAnswer[]): number => {
  const startedMs = Math.min(...answers.map((answer) => answer.startedMs));
  const endedMs = Math.max(...answers.map((answer) => answer.endedMs));
  return (count / (endedMs - startedMs)) * 1000;
};

/** The emulators alone, each with the official SDK in a process of its own: ours, and those that others use. */
export async function emulatorsMeasurement({ leash, pace }: Surroundings): Promise<Measurement> {
  const emulators = new Program<EmulatorsRequest, EmulatorsAnswer>(programOf('emulators-server'), leash);
  const peer = new Program<object, PeerAnswer>(programOf('amqp-emulator-server'), leash);
  const azurite = new Program<AzuriteRequest, object>(programOf('azurite-queues'), leash);
  const loads = [0, 1].map(() => new Program<LoadRequest, LoadAnswer>(programOf('sdk-load'), leash));
  const [load, secondLoad] = loads;
  if (!load || !secondLoad) throw new Error('two load programs are needed');
  const ours = await emulators.ask({ kind: 'start' });
  const theirs = await peer.ask({});
  const azuritePort = await freePort();
  await azurite.ask({ port: azuritePort });
  const azuriteString = `${azuriteAccount}QueueEndpoint=http://127.0.0.1:${azuritePort}/devstoreaccount1;`;

  const run = async (kind: 'service-bus' | 'queue', connectionString: string, count: number, round: number) => [
    perSecond(count, [await load.ask({ kind, connectionString, entity: `bench-${round}`, count })]),
  ];
  const sendEvents = async (round: number): Promise<readonly number[]> => {
    const before = await emulators.ask({ kind: 'cpu' });
    const request = { connectionString: ours.eventHubs, entity: `hub-${round}`, count: pace.events };
    const sent = await load.ask({ kind: 'send-events', ...request });
    const half = { ...request, kind: 'receive-events' as const, count: pace.events / 2 };
    const received = await Promise.all([
      load.ask({ ...half, partitions: ['0', '1'] }),
      secondLoad.ask({ ...half, partitions: ['2', '3'] }),
    ]);
    const { cpuMs } = await emulators.ask({ kind: 'cpu' });
    const cpuPerEvent = ((cpuMs - before.cpuMs) * 1000) / pace.events;
    return [perSecond(pace.events, [sent]), perSecond(pace.events, received), cpuPerEvent];
  };
  const startUp = async (): Promise<readonly number[]> => {
    const startedMs = performance.now();
    const fresh = new Program<EmulatorsRequest, EmulatorsAnswer>(programOf('emulators-server'), leash);
    await fresh.ask({ kind: 'start' });
    const elapsedMs = performance.now() - startedMs;
    await fresh.end();
    return [elapsedMs];
  };
  return {
    contenders: [
      { name: 'Service Bus', run: (round) => run('service-bus', ours.serviceBus, pace.serviceBusMessages, round) },
      {
        name: 'Service Bus by amqp-emulator',
        takesPartIn: () => theirs.serviceBus !== undefined,
        run: (round) => run('service-bus', theirs.serviceBus ?? '', pace.serviceBusMessages, round),
      },
      { name: 'Event Hubs', run: sendEvents },
      { name: 'queues', run: (round) => run('queue', ours.storage, pace.queueMessages, round) },
      { name: 'queues by azurite', run: (round) => run('queue', azuriteString, pace.azuriteMessages, round) },
      { name: 'start', run: startUp },
    ],
    figures: (samples) => figuresOf(samples.map((rounds) => rounds.map((each) => [...each]))),
    close: async () => void (await Promise.all([emulators, peer, azurite, ...loads].map((program) => program.end()))),
  };
}

function figuresOf(samples: readonly (readonly (readonly number[])[])[]): Figure[] {
  const column = (contender: number, index: number): number[] =>
    (samples[contender] ?? []).map((values) => values[index] ?? Number.NaN);
  const [bus, peer, queue, azurite] = [column(0, 0), column(1, 0), column(3, 0), column(4, 0)];
  const [sent, received, cpu, start] = [column(2, 0), column(2, 1), column(2, 2), column(5, 0)];
  const rate = (what: string, values: number[], goal: number): Figure => ({
    what,
    value: median(values),
    unit: 'msg/s',
    goal: atLeast(median(values), goal, ' msg/s'),
  });
  return [
    {
      ...rate('Service Bus, batches: send, receive, complete', bus, 5_000),
      ...(peer.length > 0 && { ratio: times(medianRatio(bus, peer), 'amqp-emulator') }),
    },
    ...(peer.length > 0
      ? [{ what: 'the same on amqp-emulator', value: median(peer), unit: 'msg/s', ratio: '1x' }]
      : []),
    rate('Event Hubs, batches of 500: send', sent, 50_000),
    rate('Event Hubs, 4 partitions: receive', received, 50_000),
    { what: 'Event Hubs: CPU of the emulator, sent and received', value: median(cpu), unit: 'µs/event' },
    {
      ...rate('queue: send, receive, delete', queue, 3_000),
      ratio: times(medianRatio(queue, azurite), 'azurite'),
    },
    { what: 'the same on azurite', value: median(azurite), unit: 'msg/s', ratio: '1x' },
    {
      what: 'emulators: process started until all answer',
      value: median(start),
      unit: 'ms',
      goal: below(median(start), 500, ' ms'),
    },
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
