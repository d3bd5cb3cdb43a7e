import { applicationChanged, type ApplicationChangeKind, type TenantId } from '@drover/contracts';
import type { EventBus } from '@drover/event-bus';
import type { Clock } from '@drover/service-kit';
import type {
  ApplicationAddress,
  ApplicationCatalog,
  CatalogApplication,
  CatalogChange,
  CatalogPayload,
  CatalogVersion,
  NewDeployment,
  NewRollback,
  Traffic,
} from '../application-catalog.js';
import { applicationDeleting, applicationPayloadUnknown, applicationUnknown } from '../errors.js';
import { toPlanned } from '../traffic/planned-application.js';
import {
  planDeployment,
  planRollback,
  planTraffic,
  planVersionRemoval,
  type PlannedApplication,
  type TrafficPlan,
} from '../traffic/traffic-plans.js';

export interface MemoryApplicationCatalogOptions {
  readonly bus: Pick<EventBus, 'publish'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly maxVersions?: number;
}

interface Entry {
  application: CatalogApplication;
  /** Newest first. */
  changes: readonly CatalogChange[];
}

interface OwnedPayload extends CatalogPayload {
  readonly tenantId: TenantId;
  readonly uploadedAtMs: number;
}

/** The catalog for tests: the same rules, except that nothing survives the process and settings are not encrypted. */
export class MemoryApplicationCatalog implements ApplicationCatalog {
  readonly #options: MemoryApplicationCatalogOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #payloads = new Map<string, OwnedPayload>();
  #generation = 0;

  constructor(options: MemoryApplicationCatalogOptions) {
    this.#options = options;
  }

  async list(tenantId?: TenantId): Promise<readonly CatalogApplication[]> {
    const all = [...this.#entries.values()].map(({ application }) => application);
    return all
      .filter((application) => tenantId === undefined || application.tenantId === tenantId)
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  async find(address: ApplicationAddress): Promise<CatalogApplication | undefined> {
    return this.#entries.get(keyOf(address))?.application;
  }

  async changes(address: ApplicationAddress): Promise<readonly CatalogChange[]> {
    return this.#entries.get(keyOf(address))?.changes ?? [];
  }

  async deploy(deployment: NewDeployment): Promise<CatalogApplication> {
    const { tenantId, applicationId, codeVersion, source, index, trafficPercent, reason } = deployment;
    const entry = this.#entries.get(keyOf(deployment));
    if (entry?.application.isDeleting) throw applicationDeleting({ applicationId });
    const { maxVersions = 10 } = this.#options;
    const version = { codeVersion, source, metadataVersion: index.metadataVersion };
    const planned = toPlanned(applicationId, entry?.application, entry?.changes ?? []);
    const plan = planDeployment(planned, version, { trafficPercent, maxVersions });
    if (source.kind === 'payload' && !this.#payloads.has(`${tenantId}/${source.digest}`))
      throw applicationPayloadUnknown(source);
    const others = (entry?.application.versions ?? []).filter((other) => other.codeVersion !== codeVersion);
    const application: CatalogApplication = {
      tenantId,
      applicationId,
      generation: 0,
      versions: [...others, this.#toVersion(deployment)],
      traffic: entry?.application.traffic ?? {},
      scaling: deployment.scaling ?? entry?.application.scaling ?? {},
      rollback: deployment.rollback ?? entry?.application.rollback ?? {},
      trafficChangedAtMs: entry?.application.trafficChangedAtMs ?? 0,
      isDeleting: false,
    };
    return this.#apply({ application, changes: entry?.changes ?? [] }, plan, 'deployed', reason);
  }

  async setTraffic(address: ApplicationAddress, traffic: Traffic, reason: string): Promise<CatalogApplication> {
    const entry = this.#require(address);
    return this.#apply(entry, planTraffic(plannedOf(entry), traffic), 'traffic', reason);
  }

  async rollBack(address: ApplicationAddress, rollback: NewRollback): Promise<CatalogApplication | undefined> {
    const { toVersion, reason, isAutomatic, ifGeneration } = rollback;
    const entry = this.#require(address);
    if (ifGeneration !== undefined && entry.application.generation !== ifGeneration) return undefined;
    const kind = isAutomatic ? 'rolled-back-automatically' : 'rolled-back';
    return this.#apply(entry, planRollback(plannedOf(entry), toVersion), kind, reason);
  }

  async configure(
    address: ApplicationAddress,
    settings: Partial<Pick<CatalogApplication, 'scaling' | 'rollback'>>,
  ): Promise<CatalogApplication> {
    const entry = this.#require(address);
    return this.#store({ ...entry, application: { ...entry.application, ...settings } });
  }

  async removeVersion(address: ApplicationAddress, codeVersion: string): Promise<CatalogApplication> {
    const entry = this.#require(address);
    return this.#apply(entry, planVersionRemoval(plannedOf(entry), codeVersion), undefined, '');
  }

  async beginRemoval(address: ApplicationAddress): Promise<CatalogApplication> {
    const entry = this.#entries.get(keyOf(address));
    if (!entry) throw applicationUnknown(address);
    if (entry.application.isDeleting) return entry.application;
    return this.#store({ ...entry, application: { ...entry.application, isDeleting: true } });
  }

  async completeRemoval(address: ApplicationAddress): Promise<boolean> {
    const entry = this.#entries.get(keyOf(address));
    if (!entry?.application.isDeleting) return false;
    this.#entries.delete(keyOf(address));
    await this.#publish(address, this.#nextGeneration(), true);
    return true;
  }

  async addPayload(tenantId: TenantId, payload: CatalogPayload, place: () => Promise<void>): Promise<void> {
    await place();
    const uploadedAtMs = this.#options.clock.now();
    this.#payloads.delete(`${tenantId}/${payload.digest}`); // the newest is last
    this.#payloads.set(`${tenantId}/${payload.digest}`, { ...payload, tenantId, uploadedAtMs });
  }

  async findPayload(tenantId: TenantId, digest: string): Promise<CatalogPayload | undefined> {
    const found = this.#payloads.get(`${tenantId}/${digest}`);
    return found && { digest, bytes: found.bytes, files: found.files };
  }

  async removePayloads(
    { beforeMs, maxUnused }: { readonly beforeMs: number; readonly maxUnused: number },
    discard: (tenantId: TenantId, digest: string) => Promise<void>,
  ): Promise<number> {
    const used = new Set(
      [...this.#entries.values()].flatMap(({ application: { tenantId, versions } }) =>
        versions.flatMap(({ source }) => (source.kind === 'payload' ? [`${tenantId}/${source.digest}`] : [])),
      ),
    );
    const unused = [...this.#payloads].filter(([key]) => !used.has(key)).toReversed();
    const ranks = new Map<TenantId, number>();
    const dropped = unused.filter(([, { tenantId, uploadedAtMs }]) => {
      const rank = (ranks.get(tenantId) ?? 0) + 1;
      ranks.set(tenantId, rank);
      return rank > maxUnused || uploadedAtMs < beforeMs;
    });
    for (const [key, { tenantId, digest }] of dropped) {
      this.#payloads.delete(key);
      await discard(tenantId, digest);
    }
    return dropped.length;
  }

  #toVersion({ codeVersion, source, index, settings }: NewDeployment): CatalogVersion {
    return {
      codeVersion,
      source,
      index,
      settingNames: Object.keys(settings).toSorted(),
      revealSettings: () => settings,
      deployedAtMs: this.#options.clock.now(),
      isRolledBack: false,
    };
  }

  #require(address: ApplicationAddress): Entry {
    const entry = this.#entries.get(keyOf(address));
    if (!entry) throw applicationUnknown(address);
    if (entry.application.isDeleting) throw applicationDeleting(address);
    return entry;
  }

  #apply(
    { application, changes }: Entry,
    { traffic, removed, rolledBack, restored }: TrafficPlan,
    kind: ApplicationChangeKind | undefined,
    reason: string,
  ): Promise<CatalogApplication> {
    const atMs = this.#options.clock.now();
    const versions = application.versions
      .filter(({ codeVersion }) => !removed.includes(codeVersion))
      .map((version) => ({
        ...version,
        isRolledBack:
          rolledBack.includes(version.codeVersion) || (version.isRolledBack && !restored.includes(version.codeVersion)),
      }));
    const isMoved = JSON.stringify(traffic) !== JSON.stringify(application.traffic);
    const trafficChangedAtMs = isMoved ? atMs : application.trafficChangedAtMs;
    const change = kind && { generation: this.#generation + 1, atMs, kind, traffic, reason };
    return this.#store({
      application: { ...application, versions, traffic, trafficChangedAtMs },
      changes: change ? [change, ...changes] : changes,
    });
  }

  async #store(entry: Entry): Promise<CatalogApplication> {
    const application = { ...entry.application, generation: this.#nextGeneration() };
    this.#entries.set(keyOf(application), { ...entry, application });
    await this.#publish(application, application.generation, false);
    return application;
  }

  #nextGeneration(): number {
    this.#generation += 1;
    return this.#generation;
  }

  async #publish(address: ApplicationAddress, generation: number, removed: boolean): Promise<void> {
    const { tenantId, applicationId } = address;
    const payload = { tenantId, applicationId, removed };
    await this.#options.bus.publish([{ topic: applicationChanged, key: keyOf(address), generation, payload }]);
  }
}

function plannedOf({ application, changes }: Entry): PlannedApplication {
  return toPlanned(application.applicationId, application, changes);
}

function keyOf({ tenantId, applicationId }: ApplicationAddress): string {
  return `${tenantId}/${applicationId}`;
}
