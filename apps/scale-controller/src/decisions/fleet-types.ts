import type { ScaleInput, ScaleOutcome, ScalePolicy, ScaleState } from './types.js';

/** One application in a pass over all of them. */
export interface FleetMember {
  /** `tenant/application`. */
  readonly application: string;
  readonly tenantId: string;
  readonly state: ScaleState | undefined;
  readonly input: ScaleInput;
  readonly policy: ScalePolicy;
}

/** Bounds of a tenant; undefined: none, and weight 1. */
export interface TenantLimits {
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  /** Share of a scarce ceiling, relative to the other tenants. */
  readonly weight?: number;
}

export interface FleetLimits {
  /** Function workers of all applications together, placeholders not among them. */
  readonly maxWorkers: number;
  readonly tenants: ReadonlyMap<string, TenantLimits>;
}

/** Outcomes in the order of the members, after the ceilings of tenants and platform. */
export type DecideFleet = (members: readonly FleetMember[], limits: FleetLimits) => readonly ScaleOutcome[];

/** What the sizing of the placeholder pool remembers. */
export interface PoolState {
  readonly target: number;
  readonly decidedAtMs: number;
  /** Highest number of specializations within one replenish time, in each of the last intervals, newest last. */
  readonly peaks: readonly number[];
  readonly peaksAtMs: number;
  /** Mean specializations per second, over about ten minutes. */
  readonly rate: number;
  /** Raised at once by each miss, decays slowly. */
  readonly missed: number;
}

export interface PoolInput {
  readonly nowMs: number;
  /** Placeholders taken since the decision before. */
  readonly taken: number;
  /** Cold starts since the decision before, because no placeholder was ready. */
  readonly missed: number;
  /** Most placeholders taken within one replenish time since the decision before. */
  readonly peakTaken: number;
  /** Time until a placeholder that is started now is ready, 95th percentile. */
  readonly replenishMs: number;
  /** Function workers that the platform may still start, beside the ones that applications want. */
  readonly headroom: number;
}

export interface PoolPolicy {
  readonly minPlaceholders: number;
  readonly maxPlaceholders: number;
  /** Share of replenish times in which the pool shall suffice. */
  readonly quantile: number;
  /** Time after which a raise by a miss is half gone. */
  readonly missHalfLifeMs: number;
}

export interface PoolOutcome {
  readonly state: PoolState;
  readonly target: number;
  /** - minimum, maximum, headroom: the bound that set the target; demand: the quantile; misses: cold starts */
  readonly cause: 'minimum' | 'maximum' | 'headroom' | 'demand' | 'misses';
}
