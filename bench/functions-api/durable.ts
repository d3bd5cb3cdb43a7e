import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMsOf } from '../harness/process-facts.js';
import type { Contestant } from './contestants/contestant.js';
import { Platform } from './contestants/platform.js';
import { appendLog, bullmqOnRedis, hasRedis, jobBody, onPostgres } from './contestants/queues.js';
import { startProgram } from './contestants/contestant.js';
import { durableFigures, type DurableCell, type JobsResult } from './durable-figures.js';
import { Recorder } from './recorder.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

const connectionCounts = [64, 256];
/** Jobs a second that leave everybody time to come to rest in between. */
const idlePerSecond = 30;
/** For what a queue still has to do about the jobs that have run, before the next one begins. */
const restMs = 250;
/** Before the first round, for each contestant: until everything is compiled. */
const warmUpJobs = 2_000;
/** Queues that run hundreds of jobs a second get fewer of them than those that run thousands, or a run takes all day. */
const shareOfJobs = { 'pg-boss on PostgreSQL': 0.2, 'bullmq on PostgreSQL': 0.1, 'bullmq on Redis, fsync always': 0.2 };
const limits = { concurrency: 256, queueSize: 1_000_000 };

/** Jobs that are taken over HTTP one by one, kept, and run by somebody else's leave. */
export async function durableMeasurement(surroundings: Surroundings): Promise<Measurement<JobsResult>> {
  const { pace, signal } = surroundings;
  const opened = new Opened();
  try {
    const recorder = await opened.add(Recorder.listen());
    const { contestants, unmeasured } = await openQueues(surroundings, recorder, opened);
    const run = (cell: DurableCell, jobs: number): Promise<JobsResult> =>
      runJobs(surroundings, recorder, { ...cell, jobs });
    const cells: DurableCell[] = contestants.flatMap((contestant) => [
      ...connectionCounts.map((connections) => ({ contestant, connections })),
      { contestant, connections: 0 },
    ]);
    for (const contestant of contestants) {
      signal.throwIfAborted();
      await run({ contestant, connections: 64 }, jobsFor(contestant, Math.min(warmUpJobs, pace.jobs)));
    }
    return {
      contenders: cells.map((cell) => ({
        name: `jobs: ${cell.contestant.name}, ${cell.connections || 'idle'}`,
        run: () => run(cell, cell.connections === 0 ? pace.idleJobs : jobsFor(cell.contestant, pace.jobs)),
      })),
      figures: (samples) => durableFigures(cells, samples, unmeasured),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function jobsFor({ name }: Contestant, jobs: number): number {
  const shares: Readonly<Record<string, number>> = shareOfJobs;
  return Math.round(jobs * (shares[name] ?? 1));
}

async function openQueues(
  { leash, directory }: Surroundings,
  recorder: Recorder,
  opened: Opened,
): Promise<{ readonly contestants: Contestant[]; readonly unmeasured: string[] }> {
  const options = { recorderPort: recorder.port, directory, leash };
  const isRedisThere = await hasRedis();
  const theirs = [
    await opened.add(appendLog(options)),
    await opened.add(onPostgres('pg-boss', options)),
    await opened.add(onPostgres('bullmq', options)),
    ...(isRedisThere ? [await opened.add(bullmqOnRedis(options))] : []),
  ];
  const endpoint = await opened.add(startProgram('endpoint', {}, leash));
  const platform = await opened.add(Platform.start(path.join(directory, 'durable'), leash));
  await platform.register({ name: 'local-noted', executionMode: 'LOCAL', handler: 'noted.js', ...limits });
  await platform.register({
    name: 'pool-noted',
    executionMode: 'POOL',
    endpointUrl: `http://127.0.0.1:${endpoint.port}/noted`,
    ...limits,
  });
  const ours = (name: string, functionName: string): Contestant =>
    platform.contestant(name, platform.request(functionName, 'enqueue', jobBody(recorder.port)));
  return {
    contestants: [...theirs, ours('drover, LOCAL', 'local-noted'), ours('drover, POOL', 'pool-noted')],
    unmeasured: isRedisThere ? [] : ['bullmq on Redis'],
  };
}

async function runJobs(
  { generator }: Surroundings,
  recorder: Recorder,
  { contestant: { port, pid, request }, connections, jobs }: DurableCell & { readonly jobs: number },
): Promise<JobsResult> {
  await sleep(restMs);
  const expected = recorder.expect(jobs);
  if (connections === 0) {
    const durationMs = (jobs * 1_000) / idlePerSecond + 1;
    const load = await generator.open({
      port,
      request,
      connections: 64,
      phases: [{ perSecond: idlePerSecond, durationMs }],
      firstNumber: expected.first,
    });
    if (load.unsent > 0) throw new Error(`${load.unsent} of ${jobs} jobs were not sent: nobody answered the others`);
    await expected.done;
    return { ...waitsOf(load, expected.ranAtMs), again: expected.again(), acceptedPerSecond: 0, perSecond: 0 };
  }
  const cpuBeforeMs = cpuMsOf(pid);
  const load = await generator.closed({
    port,
    request,
    connections,
    until: { requests: jobs },
    expectedStatus: 202,
    firstNumber: expected.first,
  });
  await expected.done;
  const cpuAfterMs = cpuMsOf(pid);
  const lastAtMs = expected.ranAtMs.reduce((last, atMs) => Math.max(last, atMs), 0);
  return {
    ...waitsOf(load, expected.ranAtMs),
    again: expected.again(),
    acceptedPerSecond: load.perSecond,
    perSecond: jobs / ((lastAtMs - load.startedAtMs) / 1_000),
    ...(cpuBeforeMs !== undefined &&
      cpuAfterMs !== undefined && { cpuUs: ((cpuAfterMs - cpuBeforeMs) * 1_000) / jobs }),
  };
}

/** From when the caller had the answer until the job ran; nothing, where it ran before. */
function waitsOf(
  load: { readonly startedAtMs: number; readonly answeredMs: readonly number[] },
  ranAtMs: Float64Array,
): { readonly waitsMs: number[] } {
  return {
    waitsMs: load.answeredMs.map((answeredMs, index) =>
      Math.max(0, (ranAtMs[index] ?? Number.NaN) - load.startedAtMs - answeredMs),
    ),
  };
}
