import { sleep, type Clock } from '@drover/service-kit';
import { signalProcess } from './processes.js';

/** Shutdown modes in order of escalation, with their time limits. */
const shutdownModes = [
  { signal: 'SIGINT', withinMs: 10_000 }, // fast shutdown: disconnects clients, writes a checkpoint
  { signal: 'SIGQUIT', withinMs: 5_000 }, // immediate shutdown: the next start recovers from the log
  { signal: 'SIGKILL', withinMs: Number.POSITIVE_INFINITY },
] as const;

const pollMs = 10;

export interface EndServerOptions {
  readonly pid: number;
  readonly isGone: () => boolean | Promise<boolean>;
  readonly clock: Clock;
  /** Stops waiting; the server still shuts down. */
  readonly signal?: AbortSignal;
  readonly send?: (pid: number, signal: NodeJS.Signals) => void;
}

/** Shuts a server down through its postmaster; resolves once it has exited. */
export async function endServer({ pid, isGone, clock, signal, send = signalProcess }: EndServerOptions): Promise<void> {
  for (const mode of shutdownModes) {
    if (await isGone()) return;
    send(pid, mode.signal);
    const deadline = clock.monotonicMs() + mode.withinMs;
    while (!(await isGone()) && clock.monotonicMs() < deadline) await sleep(clock, pollMs, signal);
  }
}
