import { createServer } from 'node:net';
import { Program } from '../harness/program.js';
import { median, medianRatio } from '../harness/statistics.js';
import { atLeast, below, type Figure, times } from '../harness/table.js';
import type { AzuriteAnswer, AzuriteRequest } from './programs/azurite-queues.js';
import type { EmulatorsAnswer, EmulatorsRequest } from './programs/emulators-server.js';
import type { PeerAnswer } from './programs/amqp-emulator-server.js';
import type { QueueLoadRequest } from './programs/queue-load.js';
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

/** A server and the load that it gets in one round. */
interface Bout {
  readonly name: string;
  readonly service: 'service-bus' | 'queue';
  readonly connectionString: string | undefined;
  readonly count: number;
  /** CPU time of the server so far. */
  readonly cpuMs: () => Promise<number>;
}

interface Servers {
  readonly bouts: readonly Bout[];
  readonly eventHubs: string;
  readonly cpuMs: () => Promise<number>;
  readonly close: () => Promise<unknown>;
}

async function startServers({ leash, pace }: Surroundings): Promise<Servers> {
  const emulators = new Program<EmulatorsRequest, EmulatorsAnswer>(programOf('emulators-server'), leash);
  const peer = new Program<object, PeerAnswer>(programOf('amqp-emulator-server'), leash);
  const azurite = new Program<AzuriteRequest, AzuriteAnswer>(programOf('azurite-queues'), leash);
  const { serviceBus, eventHubs, storage } = await emulators.ask({ kind: 'start' });
  const theirs = await peer.ask({});
  const port = await freePort();
  const azuriteString = `${azuriteAccount}QueueEndpoint=http://127.0.0.1:${port}/devstoreaccount1;`;
  const cpuMs = async (): Promise<number> => (await emulators.ask({ kind: 'cpu' })).cpuMs;
  const peerCpuMs = async (): Promise<number> => (await peer.ask({})).cpuMs;
  const azuriteCpuMs = async (): Promise<number> => (await azurite.ask({ port })).cpuMs;
  await azuriteCpuMs(); // started
  const bus = { service: 'service-bus', count: pace.serviceBusMessages } as const;
  const queue = { service: 'queue' } as const;
  return {
    bouts: [
      { name: 'Service Bus', connectionString: serviceBus, cpuMs, ...bus },
      { name: 'amqp-emulator', connectionString: theirs.serviceBus, cpuMs: peerCpuMs, ...bus },
      { name: 'queues', connectionString: storage, cpuMs, count: pace.queueMessages, ...queue },
      { name: 'azurite', connectionString: azuriteString, cpuMs: azuriteCpuMs, count: pace.azuriteMessages, ...queue },
    ],
    eventHubs,
    cpuMs,
    close: () => Promise.all([emulators, peer, azurite].map((program) => program.end())),
  };
}

/** The emulators alone, each with a client in a process of its own: ours, and those that others use. */
export async function emulatorsMeasurement(surroundings: Surroundings): Promise<Measurement> {
  const { leash, pace } = surroundings;
  const servers = await startServers(surroundings);
  const load = new Program<LoadRequest, LoadAnswer>(programOf('sdk-load'), leash);
  const secondLoad = new Program<LoadRequest, LoadAnswer>(programOf('sdk-load'), leash);
  const queueLoad = new Program<QueueLoadRequest, LoadAnswer>(programOf('queue-load'), leash);

  /** Messages per second, and µs of the server's CPU per message. */
  const runBout = async ({ service, connectionString = '', count, cpuMs }: Bout, round: number) => {
    const before = await cpuMs();
    const name = `bench-${round}`;
    const answer = await (service === 'queue'
      ? queueLoad.ask({ connectionString, queue: name, count })
      : load.ask({ kind: service, connectionString, entity: name, count }));
    return [perSecond(count, [answer]), (((await cpuMs()) - before) * 1000) / count];
  };
  /** Events per second sent, received, and µs of the server's CPU per event. */
  const runEvents = async (round: number): Promise<readonly number[]> => {
    const before = await servers.cpuMs();
    const request = { connectionString: servers.eventHubs, entity: `hub-${round}`, count: pace.events };
    const sent = await load.ask({ kind: 'send-events', ...request });
    const half = { ...request, kind: 'receive-events' as const, count: pace.events / 2 };
    const received = await Promise.all([
      load.ask({ ...half, partitions: ['0', '1'] }),
      secondLoad.ask({ ...half, partitions: ['2', '3'] }),
    ]);
    const cpuPerEvent = (((await servers.cpuMs()) - before) * 1000) / pace.events;
    return [perSecond(pace.events, [sent]), perSecond(pace.events, received), cpuPerEvent];
  };
  const runStart = async (): Promise<readonly number[]> => {
    const startedMs = performance.now();
    const fresh = new Program<EmulatorsRequest, EmulatorsAnswer>(programOf('emulators-server'), leash);
    await fresh.ask({ kind: 'start' });
    const elapsedMs = performance.now() - startedMs;
    await fresh.end();
    return [elapsedMs];
  };
  return {
    contenders: [
      ...servers.bouts.map((bout) => ({
        name: `emulators: ${bout.name}`,
        takesPartIn: () => bout.connectionString !== undefined,
        run: (round: number) => runBout(bout, round),
      })),
      { name: 'emulators: Event Hubs', run: runEvents },
      { name: 'emulators: start', run: runStart },
    ],
    figures: figuresOf,
    close: async () =>
      void (await Promise.all([servers.close(), ...[load, secondLoad, queueLoad].map((program) => program.end())])),
  };
}

function figuresOf(samples: readonly (readonly (readonly number[])[])[]): Figure[] {
  const column = (contender: number, index: number): number[] =>
    (samples[contender] ?? []).map((values) => values[index] ?? Number.NaN);
  const start = column(5, 0);
  return [
    ...compared('Service Bus, batches: send, receive, complete', 'amqp-emulator', 5_000, [column(0, 0), column(1, 0)]),
    ...comparedCpu('Service Bus: CPU of the emulator', 'amqp-emulator', [column(0, 1), column(1, 1)]),
    rate('Event Hubs, batches of 500: send', column(4, 0), 50_000),
    rate('Event Hubs, 4 partitions, 2 processes: receive', column(4, 1), 50_000),
    { what: 'Event Hubs: CPU of the emulator', value: median(column(4, 2)), unit: 'µs/event' },
    ...compared('queue: send, receive, delete', 'azurite', 3_000, [column(2, 0), column(3, 0)]),
    ...comparedCpu('queue: CPU of the emulator', 'azurite', [column(2, 1), column(3, 1)]),
    {
      what: 'emulators: process started until all answer',
      value: median(start),
      unit: 'ms',
      goal: below(median(start), 500, ' ms'),
    },
  ];
}

type Pair = readonly [ours: readonly number[], theirs: readonly number[]];

function rate(what: string, values: readonly number[], goal: number): Figure {
  const value = median(values);
  return { what, value, unit: 'msg/s', goal: atLeast(value, goal, ' msg/s') };
}

/** Ours beside the peer; alone when the peer is not installed. */
function compared(what: string, peer: string, goal: number, [ours, theirs]: Pair): Figure[] {
  const figure = rate(what, ours, goal);
  if (theirs.length === 0) return [figure];
  return [
    { ...figure, ratio: times(medianRatio(ours, theirs), peer) },
    { what: `the same on ${peer}`, value: median(theirs), unit: 'msg/s', ratio: '1x' },
  ];
}

function comparedCpu(what: string, peer: string, [ours, theirs]: Pair): Figure[] {
  const figure = { what, value: median(ours), unit: 'µs/msg' };
  return [theirs.length === 0 ? figure : { ...figure, ratio: times(medianRatio(ours, theirs), peer) }];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
