import type { RollbackPolicy } from '@drover/contracts';
import type { CatalogApplication } from '../application-catalog.js';

/** Ended calls of one version in a span of time. */
export interface VersionCalls {
  readonly calls: number;
  readonly failures: number;
  /** 95th percentile of the service time; undefined without calls that were measured. */
  readonly p95Ms: number | undefined;
}

export interface JudgedApplication {
  readonly application: Pick<CatalogApplication, 'versions' | 'traffic' | 'rollback' | 'trafficChangedAtMs'>;
  /** Of the newest version, since the traffic changed. */
  readonly newest: VersionCalls;
  /** Of all other versions, since the start of the watch before that. */
  readonly others: VersionCalls;
  readonly nowMs: number;
}

/** What a policy leaves out. Twenty calls bound the chance that a healthy version fails by bad luck. */
export const rollbackDefaults: Required<RollbackPolicy> = {
  isEnabled: true,
  maxErrorPercent: 25,
  maxLatencyFactor: 4,
  minCalls: 20,
  watchMs: 600_000,
};
/** A version must also fail this much more often than the others: what fails them all is not its fault. */
const errorFactor = 2;
/** Below that, a multiple of the latency says nothing. */
const leastSlowMs = 50;

/** Returns the version that is on trial: the newest one with traffic, if an earlier one could have it instead. */
export function versionOnTrial({
  versions,
  traffic,
}: Pick<CatalogApplication, 'versions' | 'traffic'>): string | undefined {
  const at = versions.findLastIndex(({ codeVersion }) => (traffic[codeVersion] ?? 0) > 0);
  const hasEarlier = versions.slice(0, Math.max(0, at)).some(({ isRolledBack }) => !isRolledBack);
  return hasEarlier ? versions[at]?.codeVersion : undefined;
}

/** Returns why the newest version of an application loses its traffic; undefined if it keeps it. */
export function judgeVersion({ application, newest, others, nowMs }: JudgedApplication): string | undefined {
  const policy = { ...rollbackDefaults, ...application.rollback };
  if (!policy.isEnabled || nowMs - application.trafficChangedAtMs > policy.watchMs) return undefined;
  if (versionOnTrial(application) === undefined || newest.calls < policy.minCalls) return undefined;
  return tooManyErrors(newest, others, policy) ?? tooSlow(newest, others, policy);
}

function tooManyErrors(
  newest: VersionCalls,
  others: VersionCalls,
  { maxErrorPercent, minCalls }: Required<RollbackPolicy>,
): string | undefined {
  const percent = errorPercent(newest);
  const usual = others.calls >= minCalls ? errorPercent(others) : 0;
  if (percent <= maxErrorPercent || percent <= usual * errorFactor) return undefined;
  const before = others.calls >= minCalls ? `, of the versions before ${usual.toFixed(0)} %` : '';
  return `${newest.failures} of ${newest.calls} calls failed (${percent.toFixed(0)} %, allowed are ${maxErrorPercent} %${before})`;
}

function tooSlow(
  newest: VersionCalls,
  others: VersionCalls,
  { maxLatencyFactor, minCalls }: Required<RollbackPolicy>,
): string | undefined {
  if (newest.p95Ms === undefined || others.p95Ms === undefined || others.calls < minCalls) return undefined;
  const allowedMs = Math.max(others.p95Ms * maxLatencyFactor, leastSlowMs);
  if (newest.p95Ms <= allowedMs) return undefined;
  return `95 % of its calls take up to ${newest.p95Ms.toFixed(0)} ms, of the versions before ${others.p95Ms.toFixed(0)} ms; allowed are ${allowedMs.toFixed(0)} ms`;
}

function errorPercent({ calls, failures }: VersionCalls): number {
  return calls === 0 ? 0 : (Math.min(failures, calls) / calls) * 100;
}
