import { sleep, type Clock } from '@drover/service-kit';
import { signalProcess } from './processes.js';

/** How a server is asked to end, ever less politely, and how long each way may take. */
const ways = [
  { signal: 'SIGINT', withinMs: 10_000 }, // fast: clients are cut off, everything is written out
  { signal: 'SIGQUIT', withinMs: 5_000 }, // immediate: everybody exits, the next start recovers
  { signal: 'SIGKILL', withinMs: Number.POSITIVE_INFINITY },
] as const;

const lookEveryMs = 10;

export interface EndServerOptions {
  readonly pid: number;
  readonly isGone: () => boolean | Promise<boolean>;
  readonly clock: Clock;
  /** Gives up waiting; the server is then still being ended. */
  readonly signal?: AbortSignal;
  readonly send?: (pid: number, signal: NodeJS.Signals) => void;
}

/** Ends a postmaster, and with it its server; resolves once it is gone. */
export async function endServer({ pid, isGone, clock, signal, send = signalProcess }: EndServerOptions): Promise<void> {
  for (const way of ways) {
    if (await isGone()) return;
    send(pid, way.signal);
    const deadline = clock.monotonicMs() + way.withinMs;
    while (!(await isGone()) && clock.monotonicMs() < deadline) await sleep(clock, lookEveryMs, signal);
  }
}
