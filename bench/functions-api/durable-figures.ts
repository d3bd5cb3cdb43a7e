import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import type { Contestant } from './contestants/contestant.js';

/** One contestant with so many callers; none: one job at a time, on an idle system. */
export interface DurableCell {
  readonly contestant: Contestant;
  readonly connections: number;
}

/** What became of the jobs of one round. */
export interface JobsResult {
  readonly acceptedPerSecond: number;
  /** From the first request to the last job that ran. */
  readonly perSecond: number;
  readonly waitsMs: readonly number[];
  /** Jobs that ran more than once. */
  readonly again: number;
  /** Of the server, until the last job ran; missing where the system does not tell. */
  readonly cpuUs?: number;
}

const yardstick = 'append log';
const ours = 'drover, LOCAL';
/** Of which we want to reach so much, with any number of callers. */
const least: Readonly<Record<string, number>> = { [yardstick]: 0.85, 'pg-boss on PostgreSQL': 3 };
const mostWaitMs = 25;
const mostIdleWaitMs = 3;

export function durableFigures(
  cells: readonly DurableCell[],
  samples: readonly (readonly JobsResult[])[],
  unmeasured: readonly string[],
): Figure[] {
  const roundsOf = (name: string, connections: number): readonly JobsResult[] =>
    samples[cells.findIndex((cell) => cell.contestant.name === name && cell.connections === connections)] ?? [];
  return [
    ...cells.flatMap(({ contestant: { name }, connections }) => {
      const rounds = roundsOf(name, connections);
      return connections === 0
        ? waitFigures(`job, idle: ${name}`, rounds, mostIdleWaitMs)
        : loadFigures(`jobs, ${connections} callers: ${name}`, rounds, {
            theirs: (other) => roundsOf(other, connections),
            isOurs: name === ours,
            isYardstick: name === yardstick,
          });
    }),
    ...unmeasured.map((name) => ({
      what: `jobs: ${name}`,
      value: Number.NaN,
      unit: '',
      ratio: 'not measured: no redis-server',
    })),
  ];
}

interface Comparison {
  readonly theirs: (name: string) => readonly JobsResult[];
  readonly isOurs: boolean;
  readonly isYardstick: boolean;
}

function loadFigures(what: string, rounds: readonly JobsResult[], { theirs, isOurs, isYardstick }: Comparison) {
  const ratioTo = (name: string): number =>
    medianRatio(
      rounds.map(({ perSecond }) => perSecond),
      theirs(name).map(({ perSecond }) => perSecond),
    );
  const value = median(rounds.map(({ perSecond }) => perSecond));
  const executed = { what: `${what}, executed`, value, unit: 'jobs/s' };
  const cpu = rounds.flatMap(({ cpuUs }) => cpuUs ?? []);
  const figures: Figure[] = isOurs
    ? Object.entries(least).map(([name, wanted]) => ({
        ...executed,
        ratio: times(ratioTo(name), name),
        goal: atLeast(ratioTo(name), wanted, 'x'),
      }))
    : [{ ...executed, ...(!isYardstick && { ratio: times(ratioTo(yardstick), yardstick) }) }];
  const accepted = median(rounds.map(({ acceptedPerSecond }) => acceptedPerSecond));
  const again = rounds.reduce((sum, round) => sum + round.again, 0);
  return [
    ...figures,
    { what: `${what}, accepted`, value: accepted, unit: 'jobs/s' },
    ...waitFigures(what, rounds, mostWaitMs),
    ...(cpu.length > 0 ? [{ what: `${what}: CPU of the server`, value: median(cpu), unit: 'us/job' }] : []),
    ...(again > 0 ? [{ what: `${what}: ran more than once`, value: again, unit: 'jobs' }] : []),
  ];
}

function waitFigures(what: string, rounds: readonly JobsResult[], mostMs: number): Figure[] {
  const all = rounds.flatMap(({ waitsMs }) => waitsMs);
  const p50 = percentile(all, 0.5);
  const isOurs = what.includes('drover');
  return [
    {
      what: `${what}: wait p50`,
      value: p50,
      unit: 'ms',
      ...(isOurs && { goal: below(p50, mostMs, ' ms') }),
    },
    { what: `${what}: wait p99`, value: percentile(all, 0.99), unit: 'ms' },
  ];
}
