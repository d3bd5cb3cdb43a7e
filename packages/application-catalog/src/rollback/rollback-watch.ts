import type { Clock, Observe } from '@drover/service-kit';
import type { ApplicationCatalog, CatalogApplication } from '../application-catalog.js';
import type { CatalogObservation } from '../observations.js';
import { CallHistory, sumCalls, type VersionSample } from './call-history.js';
import { judgeVersion, rollbackDefaults, versionOnTrial } from './judge-version.js';

export interface RollbackWatchOptions {
  readonly catalog: Pick<ApplicationCatalog, 'rollBack'>;
  /** Finds an application by `tenant/application`. */
  readonly find: (key: string) => CatalogApplication | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly observe: Observe<CatalogObservation>;
}

/** Applications without calls for this long are forgotten. */
const forgetMs = 900_000;

/**
 * Takes the traffic from a new version that fails or is slow. `record` tells it of every second. Only the leader of the scale
 * controllers calls it, so one process decides; a new leader knows no calls yet, and judges from those that it is told of.
 */
export class RollbackWatch {
  readonly #options: RollbackWatchOptions;
  /** By application, then by version. */
  readonly #histories = new Map<string, Map<string, CallHistory>>();
  /** Generation of an application that is being rolled back, or could not be: it is not tried again until something changes. */
  readonly #tried = new Map<string, number>();

  constructor(options: RollbackWatchOptions) {
    this.#options = options;
  }

  /** Records what a runtime measured of an application (`tenant/application`), by code version, and acts on it. */
  record(key: string, versions: Readonly<Record<string, VersionSample>>): void {
    const nowMs = this.#options.clock.now();
    const histories = this.#histories.get(key) ?? new Map<string, CallHistory>();
    for (const [version, sample] of Object.entries(versions)) {
      const history = histories.get(version) ?? new CallHistory();
      history.add(sample, nowMs);
      histories.set(version, history);
    }
    if (histories.size > 0) this.#histories.set(key, histories);
    const application = this.#options.find(key);
    if (application && !application.isDeleting) this.#judge(key, application, nowMs);
  }

  /** Forgets versions that are gone, and applications without calls. Call it from time to time. */
  forgetIdle(): void {
    const before = this.#options.clock.now() - forgetMs;
    for (const [key, histories] of this.#histories) {
      for (const [version, history] of histories) if (history.isOlderThan(before)) histories.delete(version);
      if (histories.size > 0) continue;
      this.#histories.delete(key);
      this.#tried.delete(key);
    }
  }

  #judge(key: string, application: CatalogApplication, nowMs: number): void {
    const onTrial = versionOnTrial(application);
    const histories = this.#histories.get(key);
    if (onTrial === undefined || !histories || this.#tried.get(key) === application.generation) return;
    const { trafficChangedAtMs, rollback } = application;
    const watchMs = rollback.watchMs ?? rollbackDefaults.watchMs;
    const newest = sumCalls(histories.get(onTrial)?.since(trafficChangedAtMs) ?? []);
    // What was rolled back is no measure for the next one.
    const bad = new Set(application.versions.flatMap((one) => (one.isRolledBack ? one.codeVersion : [])));
    const others = [...histories].filter(([version]) => version !== onTrial && !bad.has(version));
    const spans = others.flatMap(([, history]) => history.since(trafficChangedAtMs - watchMs));
    const reason = judgeVersion({ application, newest, others: sumCalls(spans), nowMs });
    if (reason !== undefined) void this.#rollBack(key, application, `${onTrial}: ${reason}`);
  }

  async #rollBack(key: string, application: CatalogApplication, reason: string): Promise<void> {
    const { catalog, observe } = this.#options;
    this.#tried.set(key, application.generation);
    try {
      const { generation } = application;
      const changed = await catalog.rollBack(application, { reason, isAutomatic: true, ifGeneration: generation });
      if (changed) observe({ kind: 'rollback.done', application: key, reason, traffic: changed.traffic });
    } catch (error) {
      observe({ kind: 'rollback.failed', application: key, reason, error });
    }
  }
}
