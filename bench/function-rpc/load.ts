import { cpuMsOf, rssOf } from '../harness/process-facts.js';

export interface Load {
  readonly inFlight: number;
  readonly durationMs: number;
}

/** What one load of one contender gave. */
export interface LoadResult {
  readonly calls: number;
  readonly perSecond: number;
  readonly latenciesUs: readonly number[];
  /** Of the process that called, generator included. */
  readonly ownCpuMs: number;
  /** Of the processes that answered; undefined where the system does not tell. */
  readonly peerCpuMs: number | undefined;
  /** MiB right after the load, the caller's first; undefined where the system does not tell. */
  readonly memory: readonly (number | undefined)[];
}

/** Calls as often as it can with so many in flight; each failure of a call fails the whole. */
export async function runLoad(
  call: () => Promise<unknown>,
  { inFlight, durationMs }: Load,
  peers: readonly number[],
): Promise<LoadResult> {
  const latenciesUs: number[] = [];
  const peerBeforeMs = sumCpuMs(peers);
  const ownBefore = process.cpuUsage();
  const startedMs = performance.now();
  const caller = async (): Promise<void> => {
    let beganMs = performance.now();
    while (beganMs - startedMs < durationMs) {
      await call();
      const endedMs = performance.now();
      latenciesUs.push((endedMs - beganMs) * 1_000);
      beganMs = endedMs;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const elapsedMs = performance.now() - startedMs;
  const own = process.cpuUsage(ownBefore);
  const peerAfterMs = sumCpuMs(peers);
  return {
    calls: latenciesUs.length,
    perSecond: latenciesUs.length / (elapsedMs / 1_000),
    // Tenths are what a clock between processes can tell, and short to send.
    latenciesUs: latenciesUs.map((us) => Math.round(us * 10) / 10),
    ownCpuMs: (own.user + own.system) / 1_000,
    peerCpuMs: peerAfterMs === undefined || peerBeforeMs === undefined ? undefined : peerAfterMs - peerBeforeMs,
    memory: [process.pid, ...peers].map((pid) => rssOf(pid)),
  };
}

function sumCpuMs(pids: readonly number[]): number | undefined {
  let sum = 0;
  for (const pid of pids) {
    const ms = cpuMsOf(pid);
    if (ms === undefined) return undefined;
    sum += ms;
  }
  return sum;
}
