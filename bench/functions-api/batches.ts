import path from 'node:path';
import { median } from '../harness/statistics.js';
import { atLeast, type Figure } from '../harness/table.js';
import type { Contestant } from './contestants/contestant.js';
import { Platform } from './contestants/platform.js';
import { jobBody } from './contestants/queues.js';
import { Recorder } from './recorder.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

const leastAcceptedPerSecond = 10_000;
const batchSizes = [100, 1_000];
const connections = 4;

export interface BatchesResult {
  readonly acceptedPerSecond: number;
  /** From the first request to the last job that ran. */
  readonly perSecond: number;
}

interface BatchCell {
  readonly contestant: Contestant;
  readonly batchSize: number;
}

/** The body of a batch of jobs, each of which says when it ran. */
export function batchBody(recorderPort: number, size: number): string {
  return `{"items":[${Array.from({ length: size }, () => jobBody(recorderPort)).join(',')}]}`;
}

/** Sends so many jobs in batches and waits until all have run. */
export async function runBatches(
  { generator }: Surroundings,
  recorder: Recorder,
  { contestant: { port, request }, batchSize }: BatchCell,
  jobs: number,
): Promise<BatchesResult> {
  const requests = Math.ceil(jobs / batchSize);
  const count = requests * batchSize;
  const expected = recorder.expect(count);
  const load = await generator.closed({
    port,
    request,
    connections: Math.min(connections, requests),
    until: { requests },
    expectedStatus: 202,
    firstNumber: expected.first,
  });
  await expected.done;
  const lastAtMs = expected.ranAtMs.reduce((last, atMs) => Math.max(last, atMs), 0);
  return {
    acceptedPerSecond: load.perSecond * batchSize,
    perSecond: count / ((lastAtMs - load.startedAtMs) / 1_000),
  };
}

/** Jobs that come many at a time. */
export async function batchesMeasurement(surroundings: Surroundings): Promise<Measurement<BatchesResult>> {
  const { pace, leash, directory } = surroundings;
  const opened = new Opened();
  try {
    const recorder = await opened.add(Recorder.listen());
    const platform = await opened.add(Platform.start(path.join(directory, 'batches'), leash));
    const limits = { concurrency: 256, queueSize: 1_000_000 };
    await platform.register({ name: 'local-noted', executionMode: 'LOCAL', handler: 'noted.js', ...limits });
    const cells = batchSizes.map((batchSize) => ({
      batchSize,
      contestant: platform.contestant(
        `batches of ${batchSize}`,
        platform.request('local-noted', 'enqueue-batch', batchBody(recorder.port, batchSize)),
      ),
    }));
    for (const cell of cells) await runBatches(surroundings, recorder, cell, 5_000);
    return {
      contenders: cells.map((cell) => ({
        name: cell.contestant.name,
        run: () => runBatches(surroundings, recorder, cell, pace.batchedJobs),
      })),
      figures: (samples) => cells.flatMap((cell, index) => figuresOf(cell, samples[index] ?? [])),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function figuresOf({ contestant: { name } }: BatchCell, rounds: readonly BatchesResult[]): Figure[] {
  const accepted = median(rounds.map(({ acceptedPerSecond }) => acceptedPerSecond));
  return [
    {
      what: `${name}: accepted`,
      value: accepted,
      unit: 'jobs/s',
      goal: atLeast(accepted, leastAcceptedPerSecond, '/s'),
    },
    { what: `${name}: executed`, value: median(rounds.map(({ perSecond }) => perSecond)), unit: 'jobs/s' },
  ];
}
