import type { PlacementRules } from '../../placement/placement-options.js';
import type { ScalePolicy } from '../../decisions/types.js';

/** A defect that the simulation must find. */
export interface PlantedBug {
  /** Rules of placement that are replaced. */
  readonly rules?: Partial<PlacementRules>;
  readonly policy?: Partial<ScalePolicy>;
  /** Runtimes, provider and store accept every token. */
  readonly acceptsAnyToken?: boolean;
  /** A leader whose lease may have expired goes on. */
  readonly ignoresLease?: boolean;
  /** Events of the loop that are lost. */
  readonly drops?: 'tick';
}

/** One-line defects, as they happen to everyone. */
export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  'a paused leader is not fenced': { acceptsAnyToken: true, ignoresLease: true },
  'workers that start are not counted': {
    rules: { isActive: (state) => state === 'ready' || state === 'specializing' || state === 'lost' },
  },
  'a placeholder is trusted by its row alone': { rules: { mayReconnect: () => true } },
  'the maximum of an application is ignored': {
    rules: { wanted: ({ desired, isWoken }) => Math.max(desired, isWoken ? 1 : 0) + 1 },
  },
  'workers beyond the share of their version stay': { rules: { maySurplus: () => Number.POSITIVE_INFINITY } },
  'a version without traffic goes before the other is ready': { rules: { maySurplus: () => 0 } },
  'limits of workers and commands never pass': { drops: 'tick' },
  'the number follows every sample': {
    policy: {
      downStabilizationMs: 1,
      idleMs: 1,
      tolerance: 0,
      slewDown: { factor: 0, add: 100, periodMs: 1 },
    },
  },
};
