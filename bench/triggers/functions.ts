import { Program } from '../harness/program.js';
import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { BenchRuntime, Reports } from './bench-runtime.js';
import type { ConsumeAnswer, ConsumeRequest } from './programs/bare-consumer.js';
import type { ObservedAnswer, ObservedRequest } from './programs/observed-emulators.js';
import type { Measurement, Surroundings } from './suite.js';
import { triggerKinds, type TriggerKind } from './trigger-kinds.js';

type Emulators = Program<ObservedRequest, ObservedAnswer>;

interface World extends Surroundings {
  readonly emulators: Emulators;
  readonly reports: Reports;
  readonly storage: string;
  readonly namespace: string;
}

const programOf = (name: string): URL => new URL(`programs/${name}.js`, import.meta.url);
/** Kinds whose messages are settled one by one. */
const pacedKinds = ['queue', 'service-bus'] as const;
const kinds = Object.keys(triggerKinds) as TriggerKind[];
/** Messages that load what the first ones need. */
const warmUps = 50;
const idleSamples = 40;
/** Longer than the pause of a listener that has found nothing twice. */
const idlePauseMs = 250;

/** Functions that do nothing, each beside the loop of the bare SDK on the same emulator. */
export async function functionsMeasurement(surroundings: Surroundings): Promise<Measurement> {
  const { leash } = surroundings;
  const emulators: Emulators = new Program(programOf('observed-emulators'), leash);
  const reports = await Reports.open();
  const { storage = '', namespace = '' } = await emulators.ask({ kind: 'start' });
  const world: World = { ...surroundings, emulators, reports, storage, namespace };
  const perKind = kinds.map((kind) => [
    { name: `${kind} by the SDK`, run: async (round: number) => [await bareRate(world, kind, round)] },
    { name: `${kind} by the runtime`, run: async (round: number) => [await runtimeRate(world, kind, round)] },
  ]);
  const idle = kinds
    .filter((kind) => triggerKinds[kind].mostIdleMs !== undefined)
    .map((kind) => ({ name: `${kind}, idle`, run: (round: number) => idleMs(world, kind, round) }));
  const paced = pacedKinds.flatMap((kind) => [
    { name: `${kind} at a steady rate by the SDK`, run: (round: number) => pacedMs(world, kind, round, 'sdk') },
    { name: `${kind} at a steady rate by the runtime`, run: (round: number) => pacedMs(world, kind, round, 'runtime') },
  ]);
  const unsettled = {
    name: 'event-hub-many by the SDK, without checkpoints',
    run: async (round: number) => [await bareRate(world, 'event-hub-many', round, { isSettled: false })],
  };
  const relayed = { name: 'queue, idle, sent by an output', run: (round: number) => relayedMs(world, round) };
  return {
    contenders: [...perKind.flat(), ...idle, relayed, ...paced, unsettled],
    figures: (samples) => figuresOf(samples.map((rounds) => rounds.map((each) => [...each]))),
    close: async () => {
      reports.close();
      await emulators.end();
    },
  };
}

async function bareRate(
  { emulators, leash, pace, storage, namespace }: World,
  kind: TriggerKind,
  round: number,
  { isSettled } = { isSettled: true },
): Promise<number> {
  const { service, messages } = triggerKinds[kind];
  const [entity, count] = [`bare-${kind}-${isSettled}-${round}`, messages(pace)];
  await emulators.ask({ kind: 'fill', service, entity, count });
  const consumer = new Program<ConsumeRequest, ConsumeAnswer>(programOf('bare-consumer'), leash);
  const connectionString = service === 'queues' ? storage : namespace;
  const checkpoints = service === 'event-hubs' && isSettled ? { checkpoints: storage } : {};
  const { fromMs, toMs } = await consumer.ask({ kind, connectionString, ...checkpoints, entity, count });
  await consumer.end();
  return (count / (toMs - fromMs)) * 1000;
}

async function runtimeRate(world: World, kind: TriggerKind, round: number): Promise<number> {
  const { emulators, reports, pace } = world;
  const { service, messages } = triggerKinds[kind];
  const [entity, count] = [`function-${kind}-${round}`, messages(pace)];
  await emulators.ask({ kind: 'fill', service, entity, count });
  // Events are not settled one by one: they count when the function has seen them.
  const seen = service === 'event-hubs' ? reports.next() : undefined;
  const drained = seen ? undefined : emulators.ask({ kind: 'drained', service, entity, count });
  const runtime = await BenchRuntime.start({ ...world, kind, entity, count });
  try {
    const report = await seen;
    if (report?.kind === 'seen') return (report.count / (report.lastMs - report.firstMs)) * 1000;
    const { fromMs = 0, toMs = 0, settled = 0 } = (await drained) ?? {};
    return (settled / (toMs - fromMs)) * 1000;
  } finally {
    await runtime.stop();
  }
}

/** Milliseconds from sent to settled, 200 messages a second. */
async function pacedMs(world: World, kind: TriggerKind, round: number, by: 'sdk' | 'runtime'): Promise<number[]> {
  const { emulators, leash, pace, storage, namespace } = world;
  const { service } = triggerKinds[kind];
  const [entity, count] = [`paced-${by}-${kind}-${round}`, pace.pacedMessages];
  await emulators.ask({ kind: 'fill', service, entity, count: warmUps });
  const runtime = by === 'runtime' ? await BenchRuntime.start({ ...world, kind, entity, count: Infinity }) : undefined;
  const consumer =
    by === 'sdk' ? new Program<ConsumeRequest, ConsumeAnswer>(programOf('bare-consumer'), leash) : undefined;
  const connectionString = service === 'queues' ? storage : namespace;
  const consumed = consumer?.ask({ kind, connectionString, entity, count: warmUps + count });
  try {
    await emulators.ask({ kind: 'drained', service, entity, count: warmUps });
    const { latenciesMs = [] } = await emulators.ask({ kind: 'paced', service, entity, count });
    await consumed;
    return [...latenciesMs];
  } finally {
    await runtime?.stop();
    await consumer?.end();
  }
}

/** Milliseconds from a message that is sent to an idle source until the function has it. */
async function idleMs(world: World, kind: TriggerKind, round: number): Promise<number[]> {
  const { service } = triggerKinds[kind];
  const entity = `idle-${kind}-${round}`;
  return await onIdleRuntime(world, kind, entity, async () => {
    const entered = world.reports.next();
    const { sentMs = 0 } = await world.emulators.ask({ kind: 'send', service, entity });
    const report = await entered;
    return report.kind === 'entered' ? report.atMs - sentMs : Number.NaN;
  });
}

/** The same for a storage queue to which an output of the same runtime sends: from the stored message to the function. */
async function relayedMs(world: World, round: number): Promise<number[]> {
  return await onIdleRuntime(world, 'queue', `relayed-${round}`, async (runtime) => {
    const entered = world.reports.next();
    await fetch(`${runtime.url}/api/relay`, { method: 'POST' });
    const report = await entered;
    const { sentMs = 0 } = await world.emulators.ask({ kind: 'stored' });
    return report.kind === 'entered' ? report.atMs - sentMs : Number.NaN;
  });
}

async function onIdleRuntime(
  world: World,
  kind: TriggerKind,
  entity: string,
  sample: (runtime: BenchRuntime) => Promise<number>,
): Promise<number[]> {
  await world.emulators.ask({ kind: 'fill', service: triggerKinds[kind].service, entity, count: 0 });
  const runtime = await BenchRuntime.start({ ...world, kind, entity, count: Infinity });
  try {
    const samples: number[] = [];
    await sample(runtime); // loads what the first message needs
    for (let n = 0; n < idleSamples; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, idlePauseMs));
      samples.push(await sample(runtime));
    }
    return samples;
  } finally {
    await runtime.stop();
  }
}

function figuresOf(samples: readonly (readonly (readonly number[])[])[]): Figure[] {
  const first = (index: number): number[] => (samples[index] ?? []).map(([value = Number.NaN]) => value);
  const all = (index: number): number[] => (samples[index] ?? []).flat();
  const rates = kinds.flatMap((kind, index): Figure[] => {
    const { label, leastRatio } = triggerKinds[kind];
    const [bare, ours] = [first(2 * index), first(2 * index + 1)];
    const ratio = medianRatio(ours, bare);
    return [
      { what: `${label}: receive and settle with the SDK`, value: median(bare), unit: 'msg/s' },
      {
        what: `${label}: a function that does nothing`,
        value: median(ours),
        unit: 'msg/s',
        ratio: times(ratio, 'the SDK'),
        ...(leastRatio !== undefined && { goal: atLeast(ratio, leastRatio, 'x') }),
      },
    ];
  });
  const idleKinds = kinds.filter((kind) => triggerKinds[kind].mostIdleMs !== undefined);
  const idle = idleKinds.flatMap((kind, index) => {
    const { label, mostIdleMs = 0 } = triggerKinds[kind];
    return latencies(`${label}: idle, sent until the function has it`, all(2 * kinds.length + index), mostIdleMs);
  });
  const relayed = all(2 * kinds.length + idleKinds.length);
  const pacedFrom = 2 * kinds.length + idleKinds.length + 1;
  const paced = pacedKinds.flatMap((kind, index) => {
    const what = `${triggerKinds[kind].label}: sent until settled, 200 msg/s`;
    return [
      ...latencies(`${what}, with the SDK`, all(pacedFrom + 2 * index)),
      ...latencies(`${what}, function`, all(pacedFrom + 2 * index + 1)),
    ];
  });
  const unsettled = first(pacedFrom + 2 * pacedKinds.length);
  const hubs = first(2 * kinds.indexOf('event-hub-many') + 1);
  const receiveOnly: Figure[] = [
    { what: 'Event Hubs, batches: receive with the SDK, without checkpoints', value: median(unsettled), unit: 'msg/s' },
    {
      what: 'Event Hubs, batches: the function beside that',
      value: median(hubs),
      unit: 'msg/s',
      ratio: times(medianRatio(hubs, unsettled), 'the SDK'),
    },
  ];
  return [
    ...rates,
    ...receiveOnly,
    ...idle,
    ...latencies('queue: the same, sent by an output of ours', relayed, 2),
    ...paced,
  ];
}

const latencies = (what: string, samples: readonly number[], most?: number): Figure[] => {
  const p50 = percentile(samples, 0.5);
  return [
    { what: `${what}: p50`, value: p50, unit: 'ms', ...(most !== undefined && { goal: below(p50, most, ' ms') }) },
    { what: `${what}: p99`, value: percentile(samples, 0.99), unit: 'ms' },
  ];
};
