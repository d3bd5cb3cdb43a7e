import type { ColdStartBreakdown } from '@drover/contracts';

/** When the steps of a worker's start were done, on the monotonic clock. */
export interface WorkerStart {
  /** Its process was about to be started. Undefined for a worker that was started elsewhere. */
  readonly announcedMs?: number | undefined;
  /** Its stream was admitted. */
  readonly connectedMs: number;
  /** It answered WorkerInitRequest. */
  readonly initializedMs?: number | undefined;
  /** As a placeholder, it was given its application. */
  readonly assignedMs?: number | undefined;
  /** It has the environment of its application. */
  readonly reloadedMs?: number | undefined;
  /** It takes invocations. */
  readonly readyMs?: number | undefined;
}

interface Waited {
  readonly arrivedMs: number;
  /** A worker was reserved. */
  readonly chosenMs: number;
  readonly endedMs: number;
}

/**
 * Divides the time of an invocation that waited for a worker among the steps of that worker's start. A step counts as far as the
 * invocation waited during it; the rest of the wait is `queued`. The steps add up to the whole time.
 */
export function explainWait({ arrivedMs, chosenMs, endedMs }: Waited, start: WorkerStart): ColdStartBreakdown {
  const { announcedMs, connectedMs, initializedMs, assignedMs, reloadedMs, readyMs } = start;
  const overlap = (fromMs: number | undefined, toMs: number | undefined): number =>
    fromMs === undefined || toMs === undefined
      ? 0
      : Math.max(0, Math.min(toMs, chosenMs) - Math.max(fromMs, arrivedMs));
  const steps = {
    // Until its process is started, and until a placeholder is chosen.
    decided: overlap(arrivedMs, announcedMs) + overlap(initializedMs, assignedMs),
    process: overlap(announcedMs, connectedMs),
    connect: overlap(connectedMs, initializedMs),
    reload: overlap(assignedMs, reloadedMs),
    load: overlap(reloadedMs ?? initializedMs, readyMs),
  };
  const explained = Object.values(steps).reduce((sum, ms) => sum + ms, 0);
  return {
    queued: tenths(Math.max(0, chosenMs - arrivedMs - explained)),
    decided: tenths(steps.decided),
    process: tenths(steps.process),
    connect: tenths(steps.connect),
    reload: tenths(steps.reload),
    load: tenths(steps.load),
    run: tenths(endedMs - chosenMs),
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Whether an invocation waited for the start of a worker, not only for a free slot. */
export function isColdStart({ decided, process, connect, reload, load }: ColdStartBreakdown): boolean {
  return decided + process + connect + reload + load > 0;
}

/** `queued 1.2, decided 3 …`: all steps in their order, in milliseconds. */
export function describeColdStart(steps: ColdStartBreakdown): string {
  const inOrder = ['queued', 'decided', 'process', 'connect', 'reload', 'load', 'run'] as const;
  return inOrder.map((step) => `${step} ${steps[step]}`).join(', ');
}
