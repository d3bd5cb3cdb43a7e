import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerClient } from '@drover/isolated-workers';
import { median } from '../harness/statistics.js';
import { below, times } from '../harness/table.js';
import type { EchoMessages } from './echo-messages.js';
import { ourWorker, restart, retry } from './ours.js';
import { askSocketWorker, ended, startSocketWorker } from './raw.js';
import type { Measurement, Pace } from './suite.js';

const mostLaterMs = 5;
const mostOfRespawn = 1.15;
const mostStandbyMs = 15;

/** How soon a killed worker is noticed, and how soon its request is answered by another one. */
export async function crashesMeasurement({ kills }: Pace): Promise<Measurement> {
  const rejecting = await ourWorker({ restart });
  const retrying = await ourWorker({ restart, unexpectedShutdown: retry });
  const standing = await ourWorker({ restart, unexpectedShutdown: retry, standby: true });
  const repeat = async (measure: () => Promise<number>): Promise<number[]> => {
    const samples: number[] = [];
    for (let n = 0; n < kills; n += 1) samples.push(await measure());
    return samples;
  };
  const contender = (name: string, measure: () => Promise<number>) => ({ name, run: () => repeat(measure) });
  return {
    contenders: [
      contender('killed: bare exit event', () => untilExitMs()),
      contender('killed: rejected', () => untilRejectedMs(rejecting)),
      contender('killed: bare respawn', () => untilRespawnedMs()),
      contender('killed: retried', () => untilRetriedMs(retrying)),
      contender('killed: retried on standby', () => untilRetriedMs(standing)),
    ],
    figures(samples) {
      const [exit = [], rejected = [], respawned = [], retried = [], standby = []] = samples.map((rounds) =>
        rounds.map((round) => median(round)),
      );
      const laterMs = median(rejected.map((ms, round) => ms - (exit[round] ?? Number.NaN)));
      const ofRespawn = median(retried.map((ms, round) => ms / (respawned[round] ?? Number.NaN)));
      const unit = 'ms';
      return [
        { what: 'SIGKILL: bare exit event', value: median(exit), unit },
        {
          what: 'SIGKILL: request rejected',
          value: median(rejected),
          unit,
          ratio: `${laterMs.toFixed(1)} ms after the exit event`,
          goal: below(laterMs, mostLaterMs, ' ms later'),
        },
        { what: 'SIGKILL: bare respawn and answer', value: median(respawned), unit },
        {
          what: 'SIGKILL: retried answer',
          value: median(retried),
          unit,
          ratio: times(ofRespawn, 'bare respawn'),
          goal: below(ofRespawn, mostOfRespawn, 'x'),
        },
        {
          what: 'SIGKILL: retried answer, standby',
          value: median(standby),
          unit,
          goal: below(median(standby), mostStandbyMs, ' ms'),
        },
      ];
    },
    async close() {
      await Promise.all([rejecting, retrying, standing].map((worker) => worker.close()));
    },
  };
}

async function untilExitMs(): Promise<number> {
  const child = await answeringWorker();
  const exit = once(child, 'exit');
  const startedMs = performance.now();
  child.kill('SIGKILL');
  await exit;
  return performance.now() - startedMs;
}

async function untilRespawnedMs(): Promise<number> {
  const first = await answeringWorker();
  const exit = once(first, 'exit');
  const startedMs = performance.now();
  first.kill('SIGKILL');
  await exit;
  const second = await answeringWorker();
  const elapsedMs = performance.now() - startedMs;
  await ended(second);
  return elapsedMs;
}

/** A bare worker process that has answered once. */
function answeringWorker(): Promise<ChildProcess> {
  return new Promise((resolve) => {
    const child = startSocketWorker(() => resolve(child));
    askSocketWorker(child, { id: 0, value: 0 });
  });
}

function untilRejectedMs(worker: WorkerClient<EchoMessages>): Promise<number> {
  return killWith(worker, 'hang', (answer) => answer.catch(() => undefined));
}

function untilRetriedMs(worker: WorkerClient<EchoMessages>): Promise<number> {
  return killWith(worker, 'hangOnce', (answer) => answer);
}

let payload = 0;

/** Kills the worker once it has begun with a request, and says how long that takes to be settled. */
async function killWith(
  worker: WorkerClient<EchoMessages>,
  type: 'hang' | 'hangOnce',
  settled: (answer: Promise<unknown>) => Promise<unknown>,
): Promise<number> {
  await worker.send('echo', 0);
  await settledDown();
  // Never the same twice: what kills workers again and again is put into quarantine.
  const answer = settled(worker.send(type, (payload += 1)));
  await worker.send('echo', 0);
  const { pid } = worker;
  if (pid === undefined) throw new Error('the worker is gone');
  const startedMs = performance.now();
  process.kill(pid, 'SIGKILL');
  await answer;
  return performance.now() - startedMs;
}

/** Lets what starts behind a new worker (its guard, the next standby) come to rest. */
function settledDown(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 600));
}
