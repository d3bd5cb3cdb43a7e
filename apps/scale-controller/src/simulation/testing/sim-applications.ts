import type { CatalogApplication } from '@drover/application-catalog';
import type { TenantId } from '@drover/contracts';
import type { SimClock } from './sim-clock.js';

/** An application, its versions, and the events that wait at its source. */
export interface SimApplication {
  readonly key: string;
  readonly maxWorkers: number;
  readonly serviceMs: number;
  catalog: CatalogApplication;
  trafficChangedAtMs: number;
  /** Arrival times of events that no worker has taken yet. */
  readonly waiting: number[];
  /** Taken by a worker and not completed. */
  inFlight: number;
  arrived: number;
  served: number;
  /** Since the last sample. */
  arrivals: number;
  completions: number;
}

const index = { metadataVersion: 'm1', functions: [], problems: [] };

function catalogVersion(codeVersion: string): CatalogApplication['versions'][number] {
  return {
    codeVersion,
    source: { kind: 'folder', directory: '/apps', isWatched: false },
    index,
    settingNames: [],
    revealSettings: () => ({}),
    deployedAtMs: 0,
    isRolledBack: false,
  };
}

/** Four applications of three tenants. */
export function simApplications(clock: SimClock): readonly SimApplication[] {
  return ['acme/orders', 'acme/mail', 'globex/orders', 'initech/reports'].map((key) => {
    const [tenantId = '', applicationId = ''] = key.split('/');
    const maxWorkers = clock.integer(1, 4);
    const catalog: CatalogApplication = {
      tenantId: tenantId as TenantId,
      applicationId,
      generation: 1,
      versions: [catalogVersion('c1')],
      traffic: { c1: 100 },
      scaling: { maxWorkers, idleMs: 10_000, isPredictive: false },
      rollback: {},
      trafficChangedAtMs: 0,
      isDeleting: false,
    };
    return {
      key,
      maxWorkers,
      serviceMs: clock.between(10, 200),
      catalog,
      trafficChangedAtMs: -1_000_000,
      waiting: [],
      inFlight: 0,
      arrived: 0,
      served: 0,
      arrivals: 0,
      completions: 0,
    };
  });
}

/** Deploys a version, or changes the shares of the newest two. */
export function changeTraffic(clock: SimClock, application: SimApplication): void {
  const { catalog } = application;
  const newest = `c${catalog.versions.length + 1}`;
  const versions = clock.chance(0.7) ? [...catalog.versions, catalogVersion(newest)] : catalog.versions;
  const [last, before] = [versions.at(-1)?.codeVersion ?? 'c1', versions.at(-2)?.codeVersion];
  const share = before === undefined || clock.chance(0.6) ? 100 : 50;
  const traffic = { [last]: share, ...(before !== undefined && share < 100 && { [before]: 100 - share }) };
  application.catalog = { ...catalog, generation: catalog.generation + 1, versions, traffic };
  application.trafficChangedAtMs = clock.nowMs;
  clock.log(`deploy ${application.key} ${JSON.stringify(traffic)}`);
}
