import type { Observe } from '@drover/service-kit';
import type { LogLevels } from '../applications/log-levels.js';
import { levelOfWait, type FunctionInvocationObservation } from './invocation-observations.js';
import { levelOfLine } from './worker-log.js';

/** Three ways to observe the same events, which differ in what they log. */
export interface ObserveLevels<O extends { readonly kind: string }> {
  /** Logs what the level of the process permits. */
  readonly observe: Observe<O>;
  /** Logs nothing; metrics and spans are recorded. */
  readonly quietly: Observe<O>;
  /** Logs all levels, unless a level was configured for the process. */
  readonly fully: Observe<O>;
}

/**
 * Returns the `observe` of one application, which honours the log levels of its host.json. It is the given one if there are none,
 * so that only applications with levels pay for them on every call.
 */
export function observeWithLevels(
  levels: LogLevels,
  { observe, quietly, fully }: ObserveLevels<FunctionInvocationObservation>,
): Observe<FunctionInvocationObservation> {
  if (!levels.isConfigured) return observe;
  // By function: a call must not build its category, and an application has few functions.
  const calls = new Map<string, Readonly<Record<'debug' | 'info' | 'error', boolean>>>();
  const permitsCall = (name: string, level: 'debug' | 'info' | 'error'): boolean => {
    const known = calls.get(name);
    if (known) return known[level];
    const category = `Function.${name}`;
    const permits = {
      debug: levels.permits(category, 'debug'),
      info: levels.permits(category, 'info'),
      error: levels.permits(category, 'error'),
    };
    calls.set(name, permits);
    return permits[level];
  };
  return (observation) => {
    switch (observation.kind) {
      case 'invocation.routed':
        return (permitsCall(observation.function, 'info') ? fully : quietly)(observation);
      case 'invocation.ended': {
        const level = observation.outcome === 'succeeded' ? 'info' : 'error';
        return (permitsCall(observation.function, level) ? fully : quietly)(observation);
      }
      case 'invocation.waited':
        return (permitsCall(observation.function, levelOfWait(observation)) ? fully : quietly)(observation);
      case 'worker.log': {
        const { line } = observation;
        return (levels.permits(line.category, levelOfLine(line)) ? fully : quietly)(observation);
      }
      default: // lines of the platform itself
        return observe(observation);
    }
  };
}
