import type { Driver } from '../../types/driver.js';
import type { CrashFacts } from '../../types/errors.js';
import { kind } from '../../types/wire-message.js';

export interface LifeEvents {
  /** A life of the worker begins. */
  readonly onStart: () => void;
  readonly onReady: () => void;
  /** It is over; nobody else knows yet. */
  readonly onDying: () => void;
  /** It is over, and whoever owns the worker has decided what follows. */
  readonly onDied: (facts: CrashFacts) => void;
}

/** The same driver, which also tells how the lives of a worker come and go. */
export function watchedDriver(inner: Driver, life: LifeEvents): Driver {
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    connect(spec, events) {
      life.onStart();
      return inner.connect(spec, {
        onMessage(message) {
          events.onMessage(message);
          if (message[0] === kind.ready) life.onReady();
        },
        onShutdown(facts) {
          life.onDying();
          events.onShutdown(facts);
          life.onDied(facts);
        },
      });
    },
  };
}
