/** Milliseconds that processes of one machine agree on, with fractions. */
export function sharedNowMs(): number {
  return performance.timeOrigin + performance.now();
}
