import type { Clock } from '@drover/service-kit';

/** Resolves after a while, or as soon as one of the signals aborts. */
export function pauseUnless(clock: Clock, pauseMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const goOn = (): void => {
      cancel();
      for (const signal of signals) signal.removeEventListener('abort', goOn);
      resolve();
    };
    const cancel = clock.after(pauseMs, goOn);
    for (const signal of signals) signal.addEventListener('abort', goOn, { once: true });
    if (signals.some(({ aborted }) => aborted)) goOn();
  });
}
