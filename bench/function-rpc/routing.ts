import { InvocationRouter, LeastLoaded, RoundRobin } from '@drover/runtime';
import { systemClock } from '@drover/service-kit';
import { median, medianRatio } from '../harness/statistics.js';
import { below, times } from '../harness/table.js';
import type { Measurement, Surroundings } from './suite.js';

interface BenchWorker {
  readonly id: string;
  readonly codeVersion: string;
  readonly limit: number;
}

type Router = InvocationRouter<BenchWorker>;
type Policy = ConstructorParameters<typeof InvocationRouter<BenchWorker>>[0]['policy'];

const policies: Readonly<Record<string, Policy>> = {
  'least loaded': () => new LeastLoaded(),
  'round robin': () => new RoundRobin(),
};
const few = 10;
const sizes = [few, 100, 1_000];
const limit = 100;
/** A hundred times as many workers may cost three times as much: that is what a logarithm does. */
const mostGrowth = 3;

/** Nanoseconds from the question for a place to the place given back, with every other place taken. */
export async function routingMeasurement({ pace }: Surroundings): Promise<Measurement<number>> {
  const cells = Object.entries(policies).flatMap(([name, policy]) =>
    sizes.map((size) => ({ name, size, decide: halfFull(policy, size) })),
  );
  for (const { decide } of cells) decide(pace.decisions);
  return {
    contenders: cells.map(({ name, size, decide }) => ({
      name: `routing, ${name}, ${size} workers`,
      async run() {
        const startedMs = performance.now();
        decide(pace.decisions);
        return ((performance.now() - startedMs) * 1_000_000) / pace.decisions;
      },
    })),
    figures: (samples) =>
      cells.map(({ name, size }, index) => {
        const own = samples[index] ?? [];
        const ofFew = samples[cells.findIndex((cell) => cell.name === name && cell.size === few)] ?? [];
        const growth = medianRatio(own, ofFew);
        return {
          what: `routing decision, ${name}, ${size} workers`,
          value: median(own),
          unit: 'ns',
          ...(size !== few && { ratio: times(growth, `${few} workers`) }),
          ...(size === sizes.at(-1) && { goal: below(growth, mostGrowth, 'x') }),
        };
      }),
    close: () => Promise.resolve(),
  };
}

/** A router whose workers have half of what they may have; each decision takes a new place and gives the oldest back. */
function halfFull(policy: Policy, size: number): (decisions: number) => void {
  const router: Router = new InvocationRouter({ policy, clock: systemClock, maxWaiting: 0 });
  for (let n = 0; n < size; n += 1) router.add({ id: `worker-${n}`, codeVersion: '1', limit });
  const places = Array.from({ length: (size * limit) / 2 }, () => router.reserve());
  let next = 0;
  return (decisions) => {
    for (let n = 0; n < decisions; n += 1) {
      const place = router.reserve();
      if (!place) throw new Error('there was no place, with half of them free');
      const at = next % places.length;
      places[at]?.release();
      places[at] = place;
      next += 1;
    }
  };
}
