import { deadlineAfter, type Clock } from '@drover/service-kit';

/** Settles as `work` does, or rejects after `ms`. The work is not cancelled; its late result is ignored. */
export async function withTimeout<T>(clock: Clock, ms: number, purpose: string, work: Promise<T>): Promise<T> {
  const deadline = deadlineAfter(clock, ms);
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        const error = new Error(`${purpose}: no answer within ${Math.round(ms)} ms`);
        deadline.signal.addEventListener('abort', () => reject(error), { once: true });
      }),
    ]);
  } finally {
    deadline.cancel();
  }
}

/** Resolves `ms` after the signal has aborted. `cancel` ends the wait and removes its timer and listener. */
export function afterDeadline(
  signal: AbortSignal,
  clock: Clock,
  ms: number,
): { readonly reached: Promise<void>; readonly cancel: () => void } {
  let cancelTimer = (): void => undefined;
  let arm = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    arm = () => {
      cancelTimer = clock.after(ms, resolve);
    };
    if (signal.aborted) arm();
    else signal.addEventListener('abort', arm, { once: true });
  });
  return {
    reached,
    cancel() {
      signal.removeEventListener('abort', arm);
      cancelTimer();
    },
  };
}
