import { rssOf } from '../harness/process-facts.js';
import { median } from '../harness/statistics.js';
import { below, type Figure } from '../harness/table.js';
import { BenchRuntime, Reports } from './bench-runtime.js';
import { Program } from '../harness/program.js';
import type { ObservedAnswer, ObservedRequest } from './programs/observed-emulators.js';
import type { Measurement, Surroundings } from './suite.js';
import { triggerKinds } from './trigger-kinds.js';

const parts = 10;
/** Growth from the second part to the last: garbage of one part, not what a leak of a byte per message adds up to. */
const mostGrowth = 1.25;

/** Memory of one runtime while many messages pass through it. Measured once, in the first round. */
export async function memoryMeasurement({ leash, pace }: Surroundings): Promise<Measurement> {
  const emulators = new Program<ObservedRequest, ObservedAnswer>(
    new URL('programs/observed-emulators.js', import.meta.url),
    leash,
  );
  const reports = await Reports.open();
  const { storage = '', namespace = '' } = await emulators.ask({ kind: 'start' });

  const sizes = async (kind: 'queue' | 'event-hub-many', messages: number): Promise<number[]> => {
    const { service } = triggerKinds[kind];
    const [entity, count] = [`memory-${kind}`, messages / parts];
    await emulators.ask({ kind: 'fill', service, entity, count: 0 });
    const runtime = await BenchRuntime.start({ kind, entity, count, storage, namespace, reports, leash });
    try {
      const mebibytes: number[] = [];
      for (let part = 0; part < parts; part += 1) {
        const seen = reports.next();
        await emulators.ask({ kind: 'fill', service, entity, count });
        await seen;
        mebibytes.push(rssOf(runtime.pid) ?? Number.NaN);
      }
      return mebibytes;
    } finally {
      await runtime.stop();
    }
  };
  const once = { takesPartIn: (round: number): boolean => round === 0 };
  return {
    contenders: [
      { name: 'memory, queue', ...once, run: () => sizes('queue', pace.memoryMessages) },
      { name: 'memory, event hub', ...once, run: () => sizes('event-hub-many', pace.memoryEvents) },
    ],
    figures: ([queue = [], hub = []]) => [
      ...growth(`queue: memory of the runtime, ${pace.memoryMessages} messages`, queue[0] ?? []),
      ...growth(`Event Hubs: memory of the runtime, ${pace.memoryEvents} events`, hub[0] ?? []),
    ],
    close: async () => {
      reports.close();
      await emulators.end();
    },
  };
}

/** The median of the last parts beside that of the first ones, without the very first, in which it starts. */
function growth(what: string, sizes: readonly number[]): Figure[] {
  const [early, late] = [median(sizes.slice(1, 4)), median(sizes.slice(-3))];
  const ratio = late / early;
  return [
    {
      what,
      value: late,
      unit: 'MiB',
      ratio: `${ratio.toFixed(2)}x its beginning`,
      goal: below(ratio, mostGrowth, 'x'),
    },
  ];
}
