import { median, percentile } from '../harness/statistics.js';
import { decidedTriggers } from './decisions.js';
import { below, times, type Figure } from '../harness/table.js';

/** Goals P6 and P7 of the design. */
const limits = { decisionMs: 100, warmP50Ms: 25, warmP99Ms: 80, coldMs: 250, growMs: 1_000, idleKiB: 64 };

/** CPU time of one pass over all triggers, by their number; the last one with all applications busy. */
function decisionFigures(samples: readonly number[]): readonly Figure[] {
  const kinds = [
    ...decidedTriggers.map((triggers) => `${triggers.toLocaleString('en')} triggers, a tenth busy`),
    `${decidedTriggers[2].toLocaleString('en')} triggers, all busy`,
  ];
  return kinds.map((kind, place) => {
    const value = median(samples.filter((_, index) => index % kinds.length === place));
    const isGoal = place >= decidedTriggers.length - 1;
    return {
      what: `decisions: ${kind}`,
      value,
      unit: 'ms CPU',
      ...(isGoal && { goal: below(value, limits.decisionMs, ' ms') }),
    };
  });
}

/** Results in the order of the contenders of `main.ts`, one list of samples for each round. */
export function figuresOf(results: readonly (readonly (readonly number[])[])[]): readonly Figure[] {
  const [fork = [], warmHttp = [], warmBus = [], coldHttp = [], coldBus = [], growth = [], idle = [], decisions = []] =
    results.map((rounds) => rounds.flat());
  const bare = median(fork);
  const started = (what: string, samples: readonly number[], p50: number, p99: number): Figure[] => {
    const [typical, worst] = [median(samples), percentile(samples, 0.99)];
    return [
      {
        what: `${what}: p50`,
        value: typical,
        unit: 'ms',
        ratio: times(typical / bare, 'bare fork'),
        goal: below(typical, p50, ' ms'),
      },
      { what: `${what}: p99`, value: worst, unit: 'ms', goal: below(worst, p99, ' ms') },
    ];
  };
  const { warmP50Ms, warmP99Ms, coldMs, growMs } = limits;
  const ofGrowth = (place: number): number => median(growth.filter((_, index) => index % 3 === place));
  const [grownMs, emptiedMs, againMs] = [ofGrowth(0), ofGrowth(1), ofGrowth(2)];
  return [
    { what: 'bare fork and first message: p50', value: bare, unit: 'ms' },
    ...started('HTTP request from zero, placeholder', warmHttp, warmP50Ms, warmP99Ms),
    ...started('Service Bus message from zero, placeholder', warmBus, warmP50Ms, warmP99Ms),
    ...started('HTTP request from zero, no placeholder', coldHttp, coldMs, coldMs),
    ...started('Service Bus message from zero, no placeholder', coldBus, coldMs, coldMs),
    { what: '1 to 10 workers under load', value: grownMs, unit: 'ms', goal: below(grownMs, growMs, ' ms') },
    { what: 'last call to zero workers, idle time 1 s', value: emptiedMs, unit: 'ms' },
    { what: 'first call after that', value: againMs, unit: 'ms' },
    ...idleFigures(idle),
    ...decisionFigures(decisions),
  ];
}

/** None before the last round, which measures it. */
function idleFigures(idle: readonly number[]): Figure[] {
  if (idle.length === 0) return [];
  const value = median(idle);
  return [{ what: 'memory per idle application', value, unit: 'KiB', goal: below(value, limits.idleKiB, ' KiB') }];
}
