/** Nobody is asked to wait longer, whatever the other side wants. */
const longestMs = 3_600_000;

/** The pause that a `Retry-After` asks for: seconds, or a date. `now` is wall-clock time. */
export function pauseOf(retryAfter: string | undefined, now: () => number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const pauseMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now();
  return Number.isNaN(pauseMs) ? undefined : Math.min(longestMs, Math.max(0, pauseMs));
}

/** The same, looked for among raw headers: names and values in turn. */
export function retryAfterMs(headers: readonly string[], now: () => number): number | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === 'retry-after') return pauseOf(headers[index + 1], now);
  }
  return undefined;
}
