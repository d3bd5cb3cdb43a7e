import type { Lifecycle } from './lifecycle.js';

/** Something to be done once on the way up, or once on the way down, among parts that live longer. */
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
