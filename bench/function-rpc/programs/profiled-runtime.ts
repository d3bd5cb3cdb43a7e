import { serveRequests } from '../../harness/program.js';
import { runLoad, type Load, type LoadResult } from '../load.js';
import { selfTimes, type SelfTime } from '../cpu-profile.js';
import { ObservedRuntime } from './observed-runtime.js';
import { profiled } from './observed-profile.js';

export type ProfiledRequest =
  | { readonly kind: 'start'; readonly variables: Readonly<Record<string, string>> }
  | { readonly kind: 'load'; readonly load: Load; readonly isProfiled: boolean }
  | { readonly kind: 'stop' };

export interface ProfiledLoad {
  readonly result: Omit<LoadResult, 'latenciesUs'>;
  readonly selfTimes: readonly SelfTime[];
  /** When, by `process.hrtime`. */
  readonly fromUs: number;
  readonly toUs: number;
}

const runtime = new ObservedRuntime();

serveRequests<ProfiledRequest>(async (request): Promise<ProfiledLoad | undefined> => {
  if (request.kind === 'start') await runtime.start(request.variables, 1);
  if (request.kind === 'stop') await runtime.stop();
  if (request.kind !== 'load') return undefined;
  const fromUs = nowUs();
  const run = () => runLoad(runtime.caller(), request.load, runtime.workerPids);
  const { result, profile } = request.isProfiled ? await profiled(run) : { result: await run(), profile: undefined };
  const { latenciesUs: _, ...rest } = result;
  return { result: rest, selfTimes: profile ? selfTimes(profile) : [], fromUs, toUs: nowUs() };
});

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
