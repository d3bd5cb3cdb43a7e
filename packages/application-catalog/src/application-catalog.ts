import type { StoredFunctionIndex, TenantId } from '@drover/contracts';

/** Where the code of a version is: an uploaded payload, or a folder of this machine that is watched. */
export type PayloadSource =
  | { readonly kind: 'payload'; readonly digest: string; readonly bytes: number }
  | { readonly kind: 'folder'; readonly directory: string };

/** One deployed version of an application's code. */
export interface CatalogVersion {
  readonly codeVersion: string;
  readonly source: PayloadSource;
  readonly index: StoredFunctionIndex;
  /** Encrypted at rest. */
  readonly settings: Readonly<Record<string, string>>;
  readonly deployedAtMs: number;
}

/** Bounds and overrides of scaling; undefined: the default of the platform. */
export interface ScaleSettings {
  readonly minWorkers?: number;
  readonly maxWorkers?: number;
  /** Idle time after which the last worker ends. */
  readonly idleMs?: number;
  /** Whether workers are started ahead of the usual demand. */
  readonly isPredictive?: boolean;
}

export interface CatalogApplication {
  readonly tenantId: TenantId;
  readonly applicationId: string;
  /** Grows with every change. */
  readonly generation: number;
  readonly versions: readonly CatalogVersion[];
  /** Percent by code version; the sum is 100. */
  readonly traffic: Readonly<Record<string, number>>;
  readonly scaling: ScaleSettings;
  /** It drains: no new calls, and it is removed when nothing runs any more. */
  readonly isDeleting: boolean;
}
