import type { Driver } from '../../types/driver.js';
import type { CrashFacts } from '../../types/errors.js';
import { kind } from '../../types/wire-message.js';
import { startConnection } from '../start-connection.js';

export interface LifeEvents {
  /** A process or thread is being started. */
  readonly onStart: () => void;
  readonly onReady: () => void;
  /** It has died. Called before `WorkerCore` handles it. */
  readonly onDying: () => void;
  /** It has died. Called after `WorkerCore` has handled it. */
  readonly onDied: (facts: CrashFacts) => void;
}

/** Returns a driver that also reports start, readiness and death of each process or thread. */
export function watchedDriver(inner: Driver, life: LifeEvents): Driver {
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    connect(spec, events) {
      life.onStart();
      return startConnection(inner, spec, {
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
