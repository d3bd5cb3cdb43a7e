import type { Lifecycle } from './lifecycle.js';

/** An action that runs once during start or once during stop, as a part among others. */
export function step(
  name: string,
  { up, down }: { readonly up?: () => Promise<void>; readonly down?: () => Promise<void> },
): Lifecycle {
  return {
    name,
    start: async () => up?.(),
    drain: () => Promise.resolve(),
    stop: async () => down?.(),
  };
}
