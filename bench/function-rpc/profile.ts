import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Profiler } from 'node:inspector';
import { Leash } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { Program } from '../harness/program.js';
import { runtimeVariablesOf } from './contestants.js';
import { selfTimes, type SelfTime } from './cpu-profile.js';
import { workerFile } from './node-worker.js';
import type { ProfiledLoad, ProfiledRequest } from './programs/profiled-runtime.js';

/*
 * Says where the time of an invocation goes, on both sides: `node bench/dist/function-rpc/profile.js [in flight] [ms]`.
 * The figures of CPU per call come from a load without profiler, before the one with it.
 */
const [inFlight = 32, durationMs = 8_000] = process.argv.slice(2).map(Number);
const most = 25;
const leash = new Leash();
try {
  await withScratchDirectory(async (directory) => {
    const runtime = new Program<ProfiledRequest, ProfiledLoad | undefined>(
      new URL('./programs/profiled-runtime.js', import.meta.url),
      leash,
    );
    const usual = runtimeVariablesOf(1, 1_000);
    const load = (ms: number, isProfiled: boolean) =>
      runtime.ask({ kind: 'load', load: { inFlight, durationMs: ms }, isProfiled });
    try {
      await runtime.ask({ kind: 'start', variables: usual });
      await load(2_000, false);
      const plain = await load(durationMs, false);
      await runtime.ask({ kind: 'stop' });
      const command = `"${process.execPath}" --cpu-prof --cpu-prof-dir="${directory}" "${workerFile()}"`;
      await runtime.ask({ kind: 'start', variables: { ...usual, DROVER_WORKER_COMMAND: command } });
      await load(2_000, false);
      const withProfile = await load(durationMs, true);
      await runtime.ask({ kind: 'stop' });
      if (!plain || !withProfile) return;
      const { calls, perSecond, ownCpuMs, peerCpuMs = 0 } = plain.result;
      const each = (ms: number): string => `${((ms * 1_000) / calls).toFixed(1)} us of CPU per call`;
      print(`${Math.round(perSecond)} calls/s with ${inFlight} in flight\n`);
      print(`runtime: ${each(ownCpuMs)}`);
      printTimes(withProfile.selfTimes);
      print(`\nworker: ${each(peerCpuMs)}`);
      printTimes(selfTimes(await lastProfile(directory), withProfile.fromUs, withProfile.toUs));
    } finally {
      await runtime.end();
    }
  });
} finally {
  await leash.stop();
}

async function lastProfile(directory: string): Promise<Profiler.Profile> {
  const [file] = await readdir(directory);
  if (file === undefined) throw new Error('the worker left no profile behind');
  return JSON.parse(await readFile(path.join(directory, file), 'utf8')) as Profiler.Profile; // Node wrote it
}

function printTimes(times: readonly SelfTime[]): void {
  for (const { what, share } of times.slice(0, most)) print(`${(share * 100).toFixed(1).padStart(6)} %  ${what}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
