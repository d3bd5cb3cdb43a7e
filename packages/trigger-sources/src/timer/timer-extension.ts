import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
} from '../binding-extension.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import type { TimerObservation } from './observations.js';
import { parkedTimer } from './parked-timer.js';
import { TimerListener } from './timer-listener.js';
import { timerOptions } from './timer-options.js';
import { failedFunctionBackOffMs } from './timer-run.js';

interface TimerHost {
  /** `singleton` of host.json. */
  readonly singleton: { readonly listenerLockPeriodMs: number };
}
type TimerParts = ExtensionParts<TimerHost, TimerObservation | TriggerStoreObservation>;

/** The timers of one application. */
class TimerExtension implements BindingExtension {
  readonly #parts: TimerParts;

  constructor(parts: TimerParts) {
    this.#parts = parts;
  }

  prepare({ functionName, options: binding }: BindingRequest): PreparedTrigger {
    const { application, settings, host, clock, randomness, observe, store } = this.#parts;
    const options = timerOptions({ functionName, binding, settings, now: clock.now() });
    // Names of functions are unique in any case.
    const key = `timers/${application}/${functionName.toLowerCase()}`;
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: failedFunctionBackOffMs,
      listen: (deliver) =>
        new TimerListener({
          functionName,
          options,
          store,
          key,
          leaseMs: host.singleton.listenerLockPeriodMs,
          deliver,
          clock,
          randomness,
          observe,
        }),
      park: () => parkedTimer({ functionName, binding, settings, store, key, clock }),
    };
  }
}

export const timerExtension: BindingExtensionFactory<TimerHost, TimerObservation | TriggerStoreObservation> = {
  types: { triggers: ['timerTrigger'], inputs: [], outputs: [] },
  create: (parts) => new TimerExtension(parts),
};
