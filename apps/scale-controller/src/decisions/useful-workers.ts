import { wholeWorkers } from './rule.js';
import type { ScaleFacts } from './types.js';

/** Workers that need less CPU mostly wait: their number is not a question of cores. */
const leastBusyCpu = 0.5;

/**
 * One worker for each call that could run, or that the pattern of the week expects. The slope of arrivals is no reason for more: clients
 * that wait for their answers send more calls as soon as there are more workers.
 */
export function workersForCalls({ calls, forecast = 0, confidence, serviceMs = 0 }: ScaleFacts): number {
  const expected = confidence > 0 ? (forecast * serviceMs) / 1_000 : 0;
  return Math.max(1, wholeWorkers(calls), wholeWorkers(expected));
}

/** Workers that the cores of their machine can feed; undefined: not known, or they use so little CPU that cores are no bound. */
export function workersForCores({ cores, busyCpu }: ScaleFacts): number | undefined {
  if (cores === undefined || busyCpu === undefined || busyCpu < leastBusyCpu) return undefined;
  return Math.max(1, Math.floor(cores / Math.min(1, busyCpu)));
}
