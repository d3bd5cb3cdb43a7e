import type { StatusResult } from '@drover/function-rpc';

/** Returns the reason that a worker gave for a failure: its exception, else its result text. */
export function reasonOf(result: StatusResult | undefined): string {
  return result?.exception?.message || result?.result || 'the worker gave no reason';
}
