/** In how many parts a time is measured. */
const parts = 8;

/**
 * Calls `action` after `ms` in which this process could receive messages. A stretch in which its event loop was blocked, or in
 * which it was suspended, counts as one part: the worker may have done its work, and its message has not been received.
 * Returns a function that cancels the call.
 */
export function afterTurning(ms: number, action: () => void): () => void {
  let passed = 0;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;
  const wait = (): void => {
    // Whole milliseconds, which add up to `ms`.
    const partMs = Math.round((ms * (passed + 1)) / parts) - Math.round((ms * passed) / parts);
    timer = setTimeout(() => {
      passed += 1;
      if (passed < parts) wait();
      else last = setImmediate(action); // timers run before messages that have arrived, immediates after them
    }, partMs);
    timer.unref(); // the worker keeps this process alive, as long as it should
  };
  wait();
  return () => {
    clearTimeout(timer);
    clearImmediate(last);
  };
}
