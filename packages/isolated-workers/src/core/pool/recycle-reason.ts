/** Why a worker has had its time. */
export type RecycleReason = 'requests' | 'memory';

/** Whether a worker should be replaced, and why; asked after each request. */
export function recycleReason(
  worker: { readonly served: number; readonly rssBytes: number | undefined },
  limits: { readonly maxRequests: number; readonly maxMemoryMb: number | undefined },
): RecycleReason | undefined {
  if (worker.served >= limits.maxRequests) return 'requests';
  const { rssBytes } = worker;
  const tooLarge =
    rssBytes !== undefined && limits.maxMemoryMb !== undefined && rssBytes > limits.maxMemoryMb * 1024 * 1024;
  return tooLarge ? 'memory' : undefined;
}
