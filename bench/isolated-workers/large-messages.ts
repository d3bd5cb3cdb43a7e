import { median, medianRatio } from '../harness/statistics.js';
import { below, times } from '../harness/table.js';
import { text } from './loads.js';
import { ours } from './ours.js';
import type { Measurement } from './suite.js';

const largeMebibytes = 64;
const largest = 80;
const smallRuns = 15;

/** Whether a message costs in proportion to its size. */
export async function largeMessagesMeasurement(): Promise<Measurement> {
  const echoes = [await ours('process'), await ours('thread')];
  const small = text(1);
  const large = text(largeMebibytes);
  const elapsedMs = async (echo: (value: unknown) => Promise<unknown>, value: unknown): Promise<number> => {
    const startedMs = performance.now();
    await echo(value);
    return performance.now() - startedMs;
  };
  for (const { echo } of echoes) for (let n = 0; n < smallRuns; n += 1) await echo(small);
  return {
    contenders: echoes.flatMap(({ name, echo }) => [
      {
        name: `1 MiB echo: ${name}`,
        async run() {
          const samples: number[] = [];
          for (let n = 0; n < smallRuns; n += 1) samples.push(await elapsedMs(echo, small));
          return [median(samples)];
        },
      },
      { name: `${largeMebibytes} MiB echo: ${name}`, run: async () => [await elapsedMs(echo, large)] },
    ]),
    figures: (samples) =>
      echoes.map(({ name }, index) => {
        const [one = [], many = []] = samples.slice(index * 2, index * 2 + 2).map((rounds) => rounds.flat());
        const ratio = medianRatio(many, one);
        return {
          what: `${largeMebibytes} MiB echo: ${name}`,
          value: median(many),
          unit: 'ms',
          ratio: times(ratio, '1 MiB echo'),
          goal: below(ratio, largest, 'x'),
        };
      }),
    async close() {
      await Promise.all(echoes.map((echo) => echo.close()));
    },
  };
}
