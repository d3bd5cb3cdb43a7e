import { sleep, step, type Clock, type Lifecycle } from '@drover/service-kit';

export interface AwaitSchemaOptions {
  /** Whether the tables that the process needs exist. */
  readonly isThere: () => Promise<boolean>;
  readonly clock: Clock;
  /** Called once, if they do not. */
  readonly onWait: () => void;
}

const pollMs = 25;

/** Waits at start until another process has created the tables: on one machine both start at the same time. */
export function awaitSchema({ isThere, clock, onWait }: AwaitSchemaOptions): Lifecycle {
  return {
    ...step('schema', {}),
    async start(signal) {
      if (await isThere()) return;
      onWait();
      do await sleep(clock, pollMs, signal);
      while (!(await isThere()));
    },
  };
}
