import type { Lifecycle } from './lifecycle.js';

/**
 * Combines parts that are independent of each other: all start, drain and stop concurrently. If one fails to start, the start
 * of the others is aborted and all are stopped. Several failures become one AggregateError.
 */
export function together(name: string, parts: readonly Lifecycle[]): Lifecycle {
  const each = async (what: string, act: (part: Lifecycle) => Promise<void>): Promise<void> => {
    const results = await Promise.allSettled(parts.map(act));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `${name} did not ${what} cleanly`);
  };
  let isStarted = false;
  return {
    name,
    async start(signal) {
      const giveUp = new AbortController();
      const either = AbortSignal.any([signal, giveUp.signal]);
      let first: { readonly failure: unknown } | undefined;
      isStarted = true;
      await Promise.all(
        parts.map(async (part) => {
          try {
            await part.start(either);
          } catch (failure) {
            // Later failures are only the result of this abort.
            first ??= { failure };
            giveUp.abort(failure);
          }
        }),
      );
      if (!first) return;
      isStarted = false;
      await each('stop', (part) => part.stop()).catch(() => undefined);
      throw first.failure;
    },
    drain: (deadline) => (isStarted ? each('drain', (part) => part.drain(deadline)) : Promise.resolve()),
    async stop() {
      if (!isStarted) return;
      isStarted = false;
      await each('stop', (part) => part.stop());
    },
  };
}
