import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rssOf } from '../harness/process-facts.js';
import { times, type Figure } from '../harness/table.js';
import { batchBody, runBatches } from './batches.js';
import { Platform } from './contestants/platform.js';
import { Recorder } from './recorder.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

const warmUpExecutions = 10_000;
/** So many at a time, so that what is looked at is what stays, not how much may wait. */
const step = 20_000;
const batchSize = 1_000;
/** Long enough for what runs behind an execution to come to its end. */
const restMs = 2_000;

/** MiB; undefined where the system does not tell. */
export interface MemoryResult {
  readonly executions: number;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly perSecond: number;
}

/** What the control plane keeps of executions that are over. */
export async function memoryMeasurement(surroundings: Surroundings): Promise<Measurement<MemoryResult>> {
  const { pace, leash, directory, signal } = surroundings;
  const opened = new Opened();
  try {
    const recorder = await opened.add(Recorder.listen());
    const platform = await opened.add(Platform.start(path.join(directory, 'memory'), leash));
    const limits = { concurrency: 256, queueSize: 100_000 };
    await platform.register({ name: 'local-noted', executionMode: 'LOCAL', handler: 'noted.js', ...limits });
    const request = platform.request('local-noted', 'enqueue-batch', batchBody(recorder.port, batchSize));
    const cell = { contestant: platform.contestant('memory', request), batchSize };
    const run = async (): Promise<MemoryResult> => {
      await runBatches(surroundings, recorder, cell, warmUpExecutions);
      await sleep(restMs, undefined, { signal });
      const before = rssOf(platform.pid);
      const startedMs = performance.now();
      for (let ran = 0; ran < pace.executions; ran += step) {
        signal.throwIfAborted();
        await runBatches(surroundings, recorder, cell, Math.min(step, pace.executions - ran));
      }
      const perSecond = pace.executions / ((performance.now() - startedMs) / 1_000);
      await sleep(restMs, undefined, { signal });
      return { executions: pace.executions, before, after: rssOf(platform.pid), perSecond };
    };
    return {
      contenders: [{ name: `memory, ${pace.executions} executions`, takesPartIn: (round) => round === 0, run }],
      figures: ([rounds = []]) => rounds.flatMap((result) => figuresOf(result)),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function figuresOf({ executions, before, after, perSecond }: MemoryResult): Figure[] {
  const many = executions.toLocaleString('en');
  const rate = { what: `${many} executions in batches`, value: perSecond, unit: 'jobs/s' };
  if (before === undefined || after === undefined) return [rate];
  const unit = 'MiB';
  return [
    rate,
    { what: `memory after ${warmUpExecutions.toLocaleString('en')} executions`, value: before, unit },
    { what: `memory after ${many} more`, value: after, unit, ratio: times(after / before, 'before') },
  ];
}
