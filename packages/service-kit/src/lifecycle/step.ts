import type { Lifecycle } from './lifecycle.js';

interface StepActions {
  readonly up?: () => Promise<void>;
  readonly drain?: (deadline: AbortSignal) => Promise<void>;
  readonly down?: () => Promise<void>;
}

/** Actions that run once during start, drain or stop, as a part among others. */
export function step(name: string, { up, drain, down }: StepActions): Lifecycle {
  return {
    name,
    start: async () => up?.(),
    drain: async (deadline) => drain?.(deadline),
    stop: async () => down?.(),
  };
}
