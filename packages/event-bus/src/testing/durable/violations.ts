import type { HandledRow, LedgerRow } from './ledger.js';

export interface Run {
  readonly ledger: readonly LedgerRow[];
  readonly handled: readonly HandledRow[];
  /** How old an event may be that comes again. */
  readonly repeatsWithinMs: number;
}

/** Returns every violation of a guarantee of the bus as a sentence; empty if there is none. */
export function findViolations(run: Run): string[] {
  const firsts = firstHandlings(run.handled);
  return [...missing(run.ledger, firsts), ...unknown(run.ledger, firsts), ...outOfOrder(firsts), ...tooOld(run)];
}

function firstHandlings(handled: readonly HandledRow[]): Map<string, HandledRow> {
  const firsts = new Map<string, HandledRow>();
  for (const row of handled) if (!firsts.has(row.attempt)) firsts.set(row.attempt, row);
  return firsts;
}

function missing(ledger: readonly LedgerRow[], firsts: ReadonlyMap<string, HandledRow>): string[] {
  return ledger.filter(({ attempt }) => !firsts.has(attempt)).map((row) => `${name(row)} was committed, never handled`);
}

function unknown(ledger: readonly LedgerRow[], firsts: ReadonlyMap<string, HandledRow>): string[] {
  const known = new Set(ledger.map(({ attempt }) => attempt));
  return [...firsts.values()]
    .filter(({ attempt }) => !known.has(attempt))
    .map((row) => `${name(row)} was handled, never committed`);
}

/** Repeats may go back, first handlings may not: neither in generation nor in position. */
function outOfOrder(firsts: ReadonlyMap<string, HandledRow>): string[] {
  const newest = new Map<string, HandledRow>();
  return [...firsts.values()].flatMap((row) => {
    const before = newest.get(row.key);
    newest.set(row.key, row);
    const inOrder = before === undefined || (before.generation < row.generation && before.position < row.position);
    return inOrder ? [] : [`${name(row)} was handled after ${name(before)}`];
  });
}

/** A longer pause between two handlings is an outage: it ages nothing. */
const longestPauseMs = 50;

/** Repeated events follow a position that was not saved yet, so they must be recent in terms of progress. */
function tooOld({ handled, repeatsWithinMs }: Run): string[] {
  const handledFirst = new Map<string, number>();
  let progressMs = 0;
  let lastMs = 0;
  return handled.flatMap((row) => {
    const pauseMs = Math.min(longestPauseMs, Math.max(0, row.handledAt.getTime() - lastMs));
    lastMs = row.handledAt.getTime();
    const first = handledFirst.get(row.attempt);
    if (first === undefined) {
      progressMs += pauseMs;
      handledFirst.set(row.attempt, progressMs);
      return [];
    }
    const ageMs = progressMs - first;
    return ageMs <= repeatsWithinMs ? [] : [`${name(row)} was handled again after ${ageMs} ms of progress`];
  });
}

function name({ key, generation, attempt }: LedgerRow): string {
  return `${key}/${generation} (${attempt})`;
}
