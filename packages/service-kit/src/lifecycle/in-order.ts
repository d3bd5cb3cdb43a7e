import type { Lifecycle } from './lifecycle.js';

/**
 * Combines parts that depend on each other: starts them first to last, drains all of them last to first, and only then stops
 * all of them last to first. A failed start stops the parts already started. Several failures become one AggregateError.
 */
export function inOrder(name: string, parts: readonly Lifecycle[]): Lifecycle {
  /** Parts that are started or starting, in this order: only these are drained and stopped. */
  const touched: Lifecycle[] = [];

  const stop = async (): Promise<void> => {
    const failures = await eachBackwards(touched.splice(0), (part) => part.stop());
    throwTogether(`${name} did not stop cleanly`, failures);
  };

  return {
    name,
    async start(signal) {
      for (const part of parts) {
        try {
          signal.throwIfAborted();
          touched.push(part);
          await part.start(signal);
        } catch (failure) {
          const further = await eachBackwards(touched.splice(0), (started) => started.stop());
          if (further.length === 0) throw failure;
          throw new AggregateError([failure, ...further], `${part.name} of ${name} did not start`, { cause: failure });
        }
      }
    },
    async drain(deadline) {
      const failures = await eachBackwards(touched, (part) => part.drain(deadline));
      throwTogether(`${name} did not drain cleanly`, failures);
    },
    stop,
  };
}

async function eachBackwards(parts: readonly Lifecycle[], act: (part: Lifecycle) => Promise<void>): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const part of parts.toReversed()) {
    try {
      await act(part);
    } catch (failure) {
      failures.push(failure);
    }
  }
  return failures;
}

function throwTogether(message: string, failures: readonly unknown[]): void {
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, message);
}
