import { isSleepingDecision } from '../decisions/decide.js';
import type { ScaleDecision, ScalePolicy } from '../decisions/types.js';

/** Decisions in a row with the same result and the same cause; the last one stands for all of them. */
export interface DecisionRecord {
  readonly firstAtMs: number;
  readonly count: number;
  readonly decision: ScaleDecision;
  readonly policy: ScalePolicy;
}

/** Records of one application: the newest as it is, older ones as JSON, which takes a tenth of the memory. */
interface ApplicationRecords {
  newest: DecisionRecord;
  /** The policy is shared by all records, so it stays an object. */
  readonly older: { readonly json: string; readonly policy: ScalePolicy }[];
}

/** Records that are kept: of an application with workers, and of one at zero, which shall cost next to nothing. */
const kept = 32;
const keptAtZero = 2;

/**
 * Keeps the last decisions of each application. Every decision is recorded: one that repeats the result and the cause of the one before
 * takes its place and is counted. An application at zero to which nothing happens makes no record.
 */
export class DecisionLog {
  readonly #records = new Map<string, ApplicationRecords>();

  /** Records a decision. Returns true if it has another result or another cause than the one before. */
  record(application: string, decision: ScaleDecision, policy: ScalePolicy): boolean {
    if (isSleepingDecision(decision)) return false;
    const records = this.#records.get(application);
    const atMs = decision.facts.nowMs;
    if (records && isRepeated(records.newest, decision)) {
      const { firstAtMs, count } = records.newest;
      records.newest = { firstAtMs, count: count + 1, decision, policy };
      return false;
    }
    const newest = { firstAtMs: atMs, count: 1, decision, policy };
    if (!records) this.#records.set(application, { newest, older: [] });
    else {
      const { policy: sharedPolicy, ...rest } = records.newest;
      records.older.push({ json: JSON.stringify(rest), policy: sharedPolicy });
      records.newest = newest;
      const most = decision.desired === 0 ? keptAtZero : kept;
      if (records.older.length >= most) records.older.splice(0, records.older.length - most + 1);
    }
    return true;
  }

  /** Newest first. */
  recordsOf(application: string): readonly DecisionRecord[] {
    const records = this.#records.get(application);
    if (!records) return [];
    const older = records.older.map(({ json, policy }): DecisionRecord => {
      // Written by `record` alone, from a record of this type.
      const rest = JSON.parse(json) as Omit<DecisionRecord, 'policy'>;
      return { ...rest, policy };
    });
    return [records.newest, ...older.toReversed()];
  }

  forget(application: string): void {
    this.#records.delete(application);
  }
}

function isRepeated({ decision: before }: DecisionRecord, decision: ScaleDecision): boolean {
  return (
    before.desired === decision.desired && decision.previous === decision.desired && before.cause === decision.cause
  );
}
