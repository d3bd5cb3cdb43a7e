import type { FunctionSchedule } from '@drover/contracts';
import { nextRun, parseCron } from '../functions/cron.js';

/** What is due of a schedule. Times are epoch milliseconds. */
export interface DueRuns {
  /** The runs to start, oldest first. */
  readonly runs: readonly number[];
  /** When the next run is due; absent when none ever is. */
  readonly nextAt?: number;
}

/** A run that is late by no more than this was not missed: replicas restart and partitions move within it. */
const graceMs = 60_000;
const maxMissed = 100;
const hourMs = 3_600_000;
/** How far back the latest runs are searched, step by step: few schedules are so rare that the last step is needed. */
const searchedMs = [hourMs, 24 * hourMs, 40 * 24 * hourMs, 400 * 24 * hourMs, Infinity];

/** Decides which runs after `afterMs` start now. */
export function dueRuns(schedule: FunctionSchedule, afterMs: number, nowMs: number): DueRuns {
  const { cron, timeZone = 'UTC', missed = 'once', enabled = true } = schedule;
  const fields = parseCron(cron);
  if (!enabled || 'problem' in fields) return { runs: [] };
  const next = (time: number): number | undefined => nextRun(fields, timeZone, time);
  const nextAt = next(nowMs);
  const future = nextAt === undefined ? {} : { nextAt };
  const first = next(afterMs);
  if (first === undefined || first > nowMs) return { runs: [], ...future };
  const latest = latestRuns(next, afterMs, nowMs, missed === 'all' ? maxMissed : 1);
  return { runs: missed === 'skip' ? latest.filter((time) => time >= nowMs - graceMs) : latest, ...future };
}

function latestRuns(
  next: (time: number) => number | undefined,
  afterMs: number,
  nowMs: number,
  count: number,
): readonly number[] {
  let runs: number[] = [];
  for (const windowMs of searchedMs) {
    const fromMs = Math.max(afterMs, nowMs - windowMs);
    runs = [];
    for (let time = next(fromMs); time !== undefined && time <= nowMs; time = next(time)) runs.push(time);
    if (runs.length >= count || fromMs === afterMs) break;
  }
  return runs.slice(-count);
}
