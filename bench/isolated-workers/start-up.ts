import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from '../harness/statistics.js';
import { echoFactories } from './contenders.js';
import { floorFigures, type Place } from './floors.js';
import type { Measurement, Pace } from './suite.js';

const mostOfFloor = 1.1;
const freshHost = fileURLToPath(new URL('./fresh-host.js', import.meta.url));

/** From the call that starts a worker to its first answer: in this process, and with the import of the library in a new one. */
export async function startUpMeasurement({ starts }: Pace): Promise<Measurement> {
  const factories = echoFactories();
  const places: readonly Place[] = ['thread', 'process'];
  const fresh = places.flatMap((place) =>
    (['raw', 'our'] as const).map((owner) => ({ name: `import and start: ${owner} ${place}`, place, owner })),
  );
  const repeat = async (measure: () => Promise<number>): Promise<number[]> => {
    const samples: number[] = [];
    for (let n = 0; n < starts; n += 1) samples.push(await measure());
    return [median(samples)];
  };
  return {
    contenders: [
      ...factories.map(({ name, open }) => ({
        name: `start: ${name}`,
        run: () =>
          repeat(async () => {
            const startedMs = performance.now();
            const echo = await open();
            await echo.echo(0);
            const elapsedMs = performance.now() - startedMs;
            await echo.close();
            return elapsedMs;
          }),
      })),
      ...fresh.map(({ name, place, owner }) => ({
        name,
        run: () =>
          repeat(async () => {
            const { stdout } = await promisify(execFile)(process.execPath, [freshHost, owner, place]);
            return Number(stdout);
          }),
      })),
    ],
    figures(samples) {
      const rounds = samples.map((round) => round.flat());
      return [
        ...floorFigures(
          'create to first answer',
          factories.map(({ name, kind, isFloor }, index) => ({ name, kind, isFloor, samples: rounds[index] ?? [] })),
          mostOfFloor,
        ),
        ...floorFigures(
          'import to first answer, new host',
          fresh.map(({ place, owner }, index) => ({
            name: owner === 'our' ? `ours, ${place}` : `bare ${place}`,
            kind: `${owner} ${place}` as const,
            isFloor: owner === 'raw',
            samples: rounds[factories.length + index] ?? [],
          })),
          mostOfFloor,
        ),
      ];
    },
    close: async () => undefined,
  };
}
