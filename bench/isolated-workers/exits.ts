import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median } from '../harness/statistics.js';
import { echoFactories, type EchoFactory } from './contenders.js';
import type { Echo } from './echo.js';
import { floorFigures } from './floors.js';
import { jestWorker } from './peers.js';
import type { Measurement, Pace } from './suite.js';

const mostOfRespawn = 1.15;
/** A call that is not settled by then never is: some libraries do not notice the end of a worker. */
const neverMs = 3_000;

/**
 * A handler that ends its worker: how long until the call is rejected, compared with the bare exit event, and until it is
 * answered by the next worker, compared with a bare start after the exit event.
 */
export async function exitsMeasurement({ kills }: Pace): Promise<Measurement> {
  const folder = await mkdtemp(path.join(tmpdir(), 'isolated-workers-bench-'));
  const factories = echoFactories();
  const rejecting = await Promise.all(factories.map((factory) => withoutRetries(factory).open()));
  const retrying = await Promise.all(factories.map(({ open }) => open()));
  let files = 0;
  const repeat = async (echo: Echo, call: () => Promise<unknown>): Promise<number[]> => {
    const samples: number[] = [];
    for (let n = 0; n < kills && samples.at(-1) !== Number.POSITIVE_INFINITY; n += 1) {
      await within(echo.echo(0));
      samples.push(await within(call()));
    }
    return [median(samples)];
  };
  return {
    contenders: [
      ...rejecting.map((echo) => ({ name: `exit: ${echo.name}`, run: () => repeat(echo, echo.exit) })),
      ...retrying.map((echo) => ({
        name: `exit and answer: ${echo.name}`,
        run: () => repeat(echo, () => echo.exitOnce(path.join(folder, String((files += 1))))),
      })),
    ],
    figures(samples) {
      const rounds = samples.map((round) => round.flat());
      const timed = (from: number) =>
        factories.map(({ name, kind, isFloor }, index) => ({
          name,
          kind,
          isFloor,
          samples: rounds[from + index] ?? [],
        }));
      return [
        ...floorFigures('exit to rejected call', timed(0)),
        ...floorFigures('exit to answer of the next worker', timed(factories.length), mostOfRespawn),
      ];
    },
    async close() {
      await Promise.all([...rejecting, ...retrying].map((echo) => within(echo.close())));
      await rm(folder, { recursive: true });
    },
  };
}

/** jest-worker repeats a call by itself, which is measured apart. */
function withoutRetries(factory: EchoFactory): EchoFactory {
  if (!factory.name.startsWith('jest-worker')) return factory;
  const place = factory.kind === 'peer thread' ? 'thread' : 'process';
  return { ...factory, open: async () => jestWorker(place, 0) };
}

/** Milliseconds until it is settled either way; infinitely many if it is not. */
async function within(call: Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(Number.POSITIVE_INFINITY), neverMs);
  });
  const settled = call.then(
    () => performance.now() - startedMs,
    () => performance.now() - startedMs,
  );
  const ms = await Promise.race([settled, late]);
  clearTimeout(timer);
  return ms;
}
