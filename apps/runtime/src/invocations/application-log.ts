import type { Observe } from '@drover/service-kit';
import type { LineLevel, LogLevels } from '../applications/log-levels.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';

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
  return (observation) => {
    const line = lineOf(observation);
    if (!line) observe(observation);
    else if (levels.permits(line.category, line.level)) fully(observation);
    else quietly(observation);
  };
}

/** Returns category and level of lines about calls; all others are the platform's own. */
function lineOf(
  observation: FunctionInvocationObservation,
): { readonly category: string; readonly level: LineLevel } | undefined {
  switch (observation.kind) {
    case 'invocation.routed':
      return { category: `Function.${observation.function}`, level: 'info' };
    case 'invocation.ended':
      return {
        category: `Function.${observation.function}`,
        level: observation.outcome === 'succeeded' ? 'info' : 'error',
      };
    case 'worker.log':
      return observation.line;
    default:
      return undefined;
  }
}
