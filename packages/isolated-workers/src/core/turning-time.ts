/** In how many parts a time is measured. */
const parts = 8;

/**
 * Calls `action` after `ms` in which this process could receive messages. A stretch in which its event loop was blocked, or in
 * which it was suspended, counts as one part: the worker may have done its work, and its message has not been received.
 * Returns a function that cancels the call.
 */
export function afterTurning(ms: number, action: () => void): () => void {
  let left = parts;
  let last: NodeJS.Immediate | undefined;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    // Timers run before messages that arrived, immediates after them.
    last = setImmediate(action);
  }, ms / parts);
  return () => {
    clearInterval(timer);
    clearImmediate(last);
  };
}
