/**
 * Tries `claim` until it neither throws nor returns false; after `withinMs` fails with what it said last, or with the
 * fact that it said nothing.
 */
export async function eventually<T>(claim: () => T | Promise<T>, withinMs = 120_000): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      const value = await answered(claim, deadline, withinMs);
      if (value !== false) return value;
      if (performance.now() > deadline) throw new Error(`not true within ${withinMs} ms: ${claim.toString()}`);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** A claim that waits for ever must not outwait the deadline; one that was asked late gets a moment all the same. */
async function answered<T>(claim: () => T | Promise<T>, deadline: number, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    const error = new Error(`no answer within ${withinMs} ms: ${claim.toString()}`);
    timer = setTimeout(() => reject(error), Math.max(0, deadline - performance.now()) + 10);
  });
  try {
    return await Promise.race([claim(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
