import { applicationChanged, type ApplicationChangeKind, type IndexedFunction, type TenantId } from '@drover/contracts';
import { lockInTransaction, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type {
  ApplicationAddress,
  ApplicationCatalog,
  CatalogApplication,
  CatalogChange,
  CatalogPayload,
  NewDeployment,
  NewRollback,
  Traffic,
} from '../application-catalog.js';
import { applicationDeleting, applicationPayloadUnknown, applicationUnknown } from '../errors.js';
import type { SettingsSeal } from '../settings-seal.js';
import { toPlanned } from '../traffic/planned-application.js';
import {
  planDeployment,
  planRollback,
  planTraffic,
  planVersionRemoval,
  type PlannedApplication,
  type TrafficPlan,
} from '../traffic/traffic-plans.js';
import {
  addressValues,
  catalogStatements as statements,
  toApplications,
  toChange,
  type CatalogRow,
  type ChangeRow,
} from './catalog-rows.js';
import { PostgresPayloads } from './postgres-payloads.js';

export interface PostgresApplicationCatalogOptions {
  readonly database: Database;
  readonly bus: EventBus;
  readonly seal: SettingsSeal;
  /** Versions that an application keeps; older ones without traffic go. */
  readonly maxVersions: number;
  readonly admitFunctions?: AdmitFunctions | undefined;
}

/**
 * Called with the functions that get traffic and those of the application that have it, in the transaction of the change: whether their
 * routes are free elsewhere is known outside of the catalog. Throws to refuse the change. Roll backs are not asked for: the way back to
 * a version that works is never closed.
 */
export type AdmitFunctions = (
  tx: Transaction,
  address: ApplicationAddress,
  functions: {
    readonly served: readonly IndexedFunction[];
    readonly added: readonly IndexedFunction[];
    /** They are of a folder that a developer edits, which is served as far as it can be. */
    readonly isWatched: boolean;
  },
) => Promise<void>;

/** Changes of the traffic that are kept per application: for roll backs and for people. */
const keptChanges = 100;

interface Locked {
  readonly tx: Transaction;
  readonly application: CatalogApplication;
  readonly planned: PlannedApplication;
}

/** The change that a plan is recorded as. */
interface RecordedChange {
  readonly kind: ApplicationChangeKind;
  readonly reason: string;
}

/** The catalog in PostgreSQL. Changes of one application are serialized by a lock on its name, which exists before its row does. */
export class PostgresApplicationCatalog implements ApplicationCatalog {
  readonly #options: PostgresApplicationCatalogOptions;
  readonly #payloads: PostgresPayloads;

  constructor(options: PostgresApplicationCatalogOptions) {
    this.#options = options;
    this.#payloads = new PostgresPayloads(options.database);
  }

  async list(tenantId?: TenantId): Promise<readonly CatalogApplication[]> {
    const { database, seal } = this.#options;
    const rows = await (tenantId === undefined
      ? database.query<CatalogRow>(statements.listAll)
      : database.query<CatalogRow>(statements.list, [tenantId]));
    return toApplications(rows, seal);
  }

  async find(address: ApplicationAddress): Promise<CatalogApplication | undefined> {
    const rows = await this.#options.database.query<CatalogRow>(statements.find, addressValues(address));
    return toApplications(rows, this.#options.seal)[0];
  }

  async changes(address: ApplicationAddress): Promise<readonly CatalogChange[]> {
    const rows = await this.#options.database.query<ChangeRow>(statements.changes, addressValues(address));
    return rows.map(toChange);
  }

  async deploy(deployment: NewDeployment): Promise<CatalogApplication> {
    const { database, maxVersions } = this.#options;
    const { applicationId, codeVersion, source, index, trafficPercent } = deployment;
    return database.transaction(async (tx) => {
      const { application, planned } = await this.#lock(tx, deployment);
      if (application?.isDeleting) throw applicationDeleting({ applicationId });
      const isWatched = source.kind === 'folder' && source.isWatched;
      await this.#admit(tx, deployment, application, { added: index.functions, isWatched });
      const version = { codeVersion, source, metadataVersion: index.metadataVersion };
      const plan = planDeployment(planned, version, { trafficPercent, maxVersions });
      const scaling = deployment.scaling ?? application?.scaling ?? {};
      const rollback = deployment.rollback ?? application?.rollback ?? {};
      const generation = await this.#put(tx, { ...deployment, traffic: plan.traffic, scaling, rollback });
      await this.#putVersion(tx, deployment, generation);
      await this.#record(tx, deployment, { generation, plan, kind: 'deployed', reason: deployment.reason });
      return this.#reread(tx, deployment);
    });
  }

  setTraffic(address: ApplicationAddress, traffic: Traffic, reason: string): Promise<CatalogApplication> {
    return this.#change(address, async (locked) => {
      const plan = planTraffic(locked.planned, traffic);
      const { tx, application } = locked;
      const added = servedFunctions({ ...application, traffic: plan.traffic });
      await this.#admit(tx, address, application, { added, isWatched: false });
      await this.#apply(locked, plan, { kind: 'traffic', reason });
    });
  }

  async rollBack(address: ApplicationAddress, rollback: NewRollback): Promise<CatalogApplication | undefined> {
    const { toVersion, reason, isAutomatic, ifGeneration } = rollback;
    let isStale = false;
    const changed = await this.#change(address, async (locked) => {
      isStale = ifGeneration !== undefined && locked.application.generation !== ifGeneration;
      if (isStale) return;
      const kind = isAutomatic ? 'rolled-back-automatically' : 'rolled-back';
      await this.#apply(locked, planRollback(locked.planned, toVersion), { kind, reason });
    });
    return isStale ? undefined : changed;
  }

  configure(
    address: ApplicationAddress,
    settings: Partial<Pick<CatalogApplication, 'scaling' | 'rollback'>>,
  ): Promise<CatalogApplication> {
    return this.#change(address, async ({ tx, application }) => {
      const generation = await this.#put(tx, { ...application, ...settings });
      await this.#publish(tx, address, generation, false);
    });
  }

  removeVersion(address: ApplicationAddress, codeVersion: string): Promise<CatalogApplication> {
    return this.#change(address, async (locked) => {
      await this.#apply(locked, planVersionRemoval(locked.planned, codeVersion), undefined);
    });
  }

  async beginRemoval(address: ApplicationAddress): Promise<CatalogApplication> {
    return this.#options.database.transaction(async (tx) => {
      const { application } = await this.#lock(tx, address);
      if (!application) throw applicationUnknown(address);
      if (application.isDeleting) return application;
      const generation = await nextGeneration(tx);
      await tx.query(statements.markDeleting, [...addressValues(address), generation]);
      await this.#publish(tx, address, generation, false);
      return { ...application, generation, isDeleting: true };
    });
  }

  completeRemoval(address: ApplicationAddress): Promise<boolean> {
    return this.#options.database.transaction(async (tx) => {
      await lockApplication(tx, address);
      const [removed] = await tx.query(statements.removeApplication, addressValues(address));
      if (!removed) return false;
      await this.#publish(tx, address, await nextGeneration(tx), true);
      return true;
    });
  }

  addPayload(tenantId: TenantId, payload: CatalogPayload, place: () => Promise<void>): Promise<void> {
    return this.#payloads.add(tenantId, payload, place);
  }

  findPayload(tenantId: TenantId, digest: string): Promise<CatalogPayload | undefined> {
    return this.#payloads.find(tenantId, digest);
  }

  removePayloads(
    which: { readonly beforeMs: number; readonly maxUnused: number },
    discard: (tenantId: TenantId, digest: string) => Promise<void>,
  ): Promise<number> {
    return this.#payloads.removeUnused(which, discard);
  }

  /** Changes an application that is there and not deleting. Throws APPLICATION_UNKNOWN or APPLICATION_DELETING. */
  #change(address: ApplicationAddress, work: (locked: Locked) => Promise<void>): Promise<CatalogApplication> {
    return this.#options.database.transaction(async (tx) => {
      const { application, planned } = await this.#lock(tx, address);
      if (!application) throw applicationUnknown(address);
      if (application.isDeleting) throw applicationDeleting(address);
      await work({ tx, application, planned });
      return this.#reread(tx, address);
    });
  }

  /** Reads an application and keeps other changes out until the transaction ends. */
  async #lock(
    tx: Transaction,
    address: ApplicationAddress,
  ): Promise<{ readonly application: CatalogApplication | undefined; readonly planned: PlannedApplication }> {
    await lockApplication(tx, address);
    const rows = await tx.query<CatalogRow>(statements.find, addressValues(address));
    const [application] = toApplications(rows, this.#options.seal);
    const changes = await tx.query<ChangeRow>(statements.changes, addressValues(address));
    return { application, planned: toPlanned(address.applicationId, application, changes.map(toChange)) };
  }

  async #admit(
    tx: Transaction,
    address: ApplicationAddress,
    application: CatalogApplication | undefined,
    functions: { readonly added: readonly IndexedFunction[]; readonly isWatched: boolean },
  ): Promise<void> {
    const served = application ? servedFunctions(application) : [];
    await this.#options.admitFunctions?.(tx, address, { served, ...functions });
  }

  async #reread(tx: Transaction, address: ApplicationAddress): Promise<CatalogApplication> {
    const rows = await tx.query<CatalogRow>(statements.find, addressValues(address));
    const [application] = toApplications(rows, this.#options.seal);
    if (!application) throw applicationUnknown(address);
    return application;
  }

  /** Writes the row of an application under a new generation, which it returns. */
  async #put(
    tx: Transaction,
    application: ApplicationAddress & Pick<CatalogApplication, 'traffic' | 'scaling' | 'rollback'>,
  ): Promise<number> {
    const { traffic, scaling, rollback } = application;
    const generation = await nextGeneration(tx);
    const values = [traffic, scaling, rollback].map((value) => JSON.stringify(value));
    await tx.query(statements.putApplication, [...addressValues(application), generation, ...values]);
    return generation;
  }

  async #putVersion(tx: Transaction, deployment: NewDeployment, generation: number): Promise<void> {
    const { tenantId, codeVersion, source, index, settings } = deployment;
    const digest = source.kind === 'payload' ? source.digest : null;
    if (digest !== null && !(await this.#payloads.hold(tx, tenantId, digest)))
      throw applicationPayloadUnknown({ digest });
    await tx.query(statements.putVersion, [
      ...addressValues(deployment),
      codeVersion,
      index.metadataVersion,
      JSON.stringify(source),
      digest,
      JSON.stringify(index),
      Object.keys(settings).toSorted(),
      this.#options.seal.seal(deployment, settings),
      generation,
    ]);
  }

  async #apply({ tx, application }: Locked, plan: TrafficPlan, change: RecordedChange | undefined): Promise<void> {
    const generation = await this.#put(tx, { ...application, traffic: plan.traffic });
    await this.#record(tx, application, { generation, plan, ...change });
  }

  /** Marks and removes versions as planned, and records and publishes the change. */
  async #record(
    tx: Transaction,
    address: ApplicationAddress,
    { generation, plan, kind, reason }: { generation: number; plan: TrafficPlan } & Partial<RecordedChange>,
  ): Promise<void> {
    const at = addressValues(address);
    await tx.query(statements.markRolledBack, [...at, plan.rolledBack, plan.restored]);
    if (plan.removed.length > 0) await tx.query(statements.removeVersions, [...at, plan.removed]);
    if (kind !== undefined) {
      await tx.query(statements.addChange, [...at, generation, kind, JSON.stringify(plan.traffic), reason]);
      await tx.query(statements.trimChanges, [...at, keptChanges - 1]);
    }
    await this.#publish(tx, address, generation, false);
  }

  #publish(tx: Transaction, address: ApplicationAddress, generation: number, removed: boolean): Promise<void> {
    const { tenantId, applicationId } = address;
    const key = `${tenantId}/${applicationId}`;
    const payload = { tenantId, applicationId, removed };
    return this.#options.bus.publish([{ topic: applicationChanged, key, generation, payload }], tx);
  }
}

/** Returns the functions of all versions with traffic. */
function servedFunctions({ versions, traffic }: CatalogApplication): readonly IndexedFunction[] {
  return versions.filter(({ codeVersion }) => (traffic[codeVersion] ?? 0) > 0).flatMap(({ index }) => index.functions);
}

async function lockApplication(tx: Transaction, { tenantId, applicationId }: ApplicationAddress): Promise<void> {
  await lockInTransaction(tx, `drover.application ${tenantId}/${applicationId}`);
}

async function nextGeneration(tx: Transaction): Promise<number> {
  const [next] = await tx.query<{ generation: number }>(statements.nextGeneration);
  if (!next) throw new Error('the sequence returned no number');
  return next.generation;
}
