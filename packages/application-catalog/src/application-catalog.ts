import type {
  ApplicationChangeKind,
  RollbackPolicy,
  ScaleSettings,
  StoredFunctionIndex,
  TenantId,
} from '@drover/contracts';

/** Where the code of a version is: an uploaded payload, or a folder of this machine. */
export type PayloadSource =
  | { readonly kind: 'payload'; readonly digest: string; readonly bytes: number }
  /** Not copied. `isWatched`: `drover up --app` deploys it again when its files change. */
  | { readonly kind: 'folder'; readonly directory: string; readonly isWatched: boolean };

/** Identifies an application across tenants. */
export interface ApplicationAddress {
  readonly tenantId: TenantId;
  readonly applicationId: string;
}

/** One deployed version of an application's code. */
export interface CatalogVersion {
  readonly codeVersion: string;
  readonly source: PayloadSource;
  readonly index: StoredFunctionIndex;
  readonly settingNames: readonly string[];
  /** Decrypts the settings. Throws APPLICATION_SETTINGS_UNREADABLE with a wrong key. */
  readonly revealSettings: () => Readonly<Record<string, string>>;
  readonly deployedAtMs: number;
  /** It lost its traffic by a roll back, and is no target of the next one. */
  readonly isRolledBack: boolean;
}

/** Percent by code version; the sum is 100. */
export type Traffic = Readonly<Record<string, number>>;

export interface CatalogApplication extends ApplicationAddress {
  /** Grows with every change, also when an application is removed and deployed again. */
  readonly generation: number;
  /** Oldest deployment first. */
  readonly versions: readonly CatalogVersion[];
  readonly traffic: Traffic;
  readonly scaling: ScaleSettings;
  readonly rollback: RollbackPolicy;
  /** When its traffic last changed. */
  readonly trafficChangedAtMs: number;
  /** It drains: no new calls, and it is removed when nothing runs any more. */
  readonly isDeleting: boolean;
}

/** A change of the traffic of an application. */
export interface CatalogChange {
  readonly generation: number;
  readonly atMs: number;
  readonly kind: ApplicationChangeKind;
  readonly traffic: Traffic;
  readonly reason: string;
}

export interface NewDeployment extends ApplicationAddress {
  readonly codeVersion: string;
  readonly source: PayloadSource;
  readonly index: StoredFunctionIndex;
  readonly settings: Readonly<Record<string, string>>;
  /** Share of the new version; the first version of an application gets all traffic. */
  readonly trafficPercent: number;
  /** Undefined: as before. */
  readonly scaling?: ScaleSettings | undefined;
  readonly rollback?: RollbackPolicy | undefined;
  readonly reason: string;
}

export interface NewRollback {
  /** Undefined: the traffic before the last change. */
  readonly toVersion?: string | undefined;
  readonly reason: string;
  readonly isAutomatic: boolean;
  /** Nothing happens if the application has changed since this generation. */
  readonly ifGeneration?: number | undefined;
}

/** A payload that a tenant uploaded. */
export interface CatalogPayload {
  readonly digest: string;
  readonly bytes: number;
  readonly files: number;
}

/**
 * The deployed applications of all tenants. Every change is one transaction with its event (`applicationChanged`): readers see all of
 * it or nothing, and a refused change leaves the application as it is.
 */
export interface ApplicationCatalog {
  /** All applications of a tenant, or of all tenants, ordered by tenant and name. */
  list(tenantId?: TenantId): Promise<readonly CatalogApplication[]>;
  find(address: ApplicationAddress): Promise<CatalogApplication | undefined>;
  /** The last changes of its traffic, newest first. */
  changes(address: ApplicationAddress): Promise<readonly CatalogChange[]>;
  /**
   * Adds a version, or deploys a known one again, and gives it its share of the traffic. Throws APPLICATION_DELETING,
   * APPLICATION_TRAFFIC_INVALID, APPLICATION_PAYLOAD_UNKNOWN, APPLICATION_SETTINGS_NEED_KEY.
   */
  deploy(deployment: NewDeployment): Promise<CatalogApplication>;
  /** Throws APPLICATION_UNKNOWN, APPLICATION_VERSION_UNKNOWN, APPLICATION_TRAFFIC_INVALID, APPLICATION_DELETING. */
  setTraffic(address: ApplicationAddress, traffic: Traffic, reason: string): Promise<CatalogApplication>;
  /** Throws APPLICATION_UNKNOWN, APPLICATION_NO_ROLLBACK. Returns undefined if `ifGeneration` is not the current one. */
  rollBack(address: ApplicationAddress, rollback: NewRollback): Promise<CatalogApplication | undefined>;
  configure(
    address: ApplicationAddress,
    settings: { readonly scaling?: ScaleSettings; readonly rollback?: RollbackPolicy },
  ): Promise<CatalogApplication>;
  /** Throws APPLICATION_VERSION_IN_USE while it has traffic. */
  removeVersion(address: ApplicationAddress, codeVersion: string): Promise<CatalogApplication>;
  /** Marks an application as deleting. Whatever runs it drains it and then calls `completeRemoval`. */
  beginRemoval(address: ApplicationAddress): Promise<CatalogApplication>;
  /** Removes an application that is deleting. Returns false if there is none. */
  completeRemoval(address: ApplicationAddress): Promise<boolean>;
  /** Records that a tenant has a payload. `place` moves its files to where they stay, and runs alone for this tenant and digest. */
  addPayload(tenantId: TenantId, payload: CatalogPayload, place: () => Promise<void>): Promise<void>;
  findPayload(tenantId: TenantId, digest: string): Promise<CatalogPayload | undefined>;
  /**
   * Drops payloads that no version needs: those from before `beforeMs`, and of each tenant all but the newest `maxUnused`. `discard`
   * removes the files of each. Returns how many there were.
   */
  removePayloads(
    which: { readonly beforeMs: number; readonly maxUnused: number },
    discard: (tenantId: TenantId, digest: string) => Promise<void>,
  ): Promise<number>;
}
