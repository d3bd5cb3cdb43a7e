/** Tries `claim` until it neither throws nor returns false; after `withinMs` fails with what it said last. */
export async function eventually<T>(claim: () => T | Promise<T>, withinMs = 10_000): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      const value = await claim();
      if (value !== false) return value;
      if (performance.now() > deadline) throw new Error(`not true within ${withinMs} ms: ${claim.toString()}`);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
