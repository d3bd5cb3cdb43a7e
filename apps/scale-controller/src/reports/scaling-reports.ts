import type { ApplicationAddress, CatalogApplication, CatalogMirror } from '@drover/application-catalog';
import type { ScalingView } from '@drover/contracts';
import type { ScalePolicy } from '../decisions/types.js';
import type { DesiredStateStore } from '../desired-state/desired-state-store.js';
import type { DecisionLog, DecisionRecord } from '../explanations/decision-log.js';
import { explainApplication } from '../explanations/explain.js';
import type { ScaleController } from '../scale-controller.js';

interface ScalingReportsOptions {
  readonly controller: Pick<ScaleController, 'term'>;
  readonly catalog: Pick<CatalogMirror, 'get'>;
  readonly store: Pick<DesiredStateStore, 'decisions' | 'read'>;
  readonly log: Pick<DecisionLog, 'recordsOf'>;
  readonly policyOf: (application: CatalogApplication) => ScalePolicy;
}

/** Explains the number of workers of applications: the leader from what it knows, any other process from what is stored. */
export class ScalingReports {
  readonly #options: ScalingReportsOptions;

  constructor(options: ScalingReportsOptions) {
    this.#options = options;
  }

  /** Returns undefined if there is no such application. */
  async report({ tenantId, applicationId }: ApplicationAddress): Promise<ScalingView | undefined> {
    const { controller, catalog, log, policyOf } = this.#options;
    const key = `${tenantId}/${applicationId}`;
    const application = catalog.get(key);
    if (!application) return undefined;
    const { term } = controller;
    const { minWorkers, maxWorkers, idleMs, isPredictive } = policyOf(application);
    const scaling = { minWorkers, maxWorkers, idleMs, isPredictive };
    const records = await this.#records(key, term ? log.recordsOf(key) : []);
    if (!term) return explainApplication(applicationId, { ...(await this.#stored(key)), scaling, records });
    const now = { desired: term.desired(key), workers: term.countsOf(key), scaling, records };
    return explainApplication(applicationId, now);
  }

  /** Records of this process, and before them the changes that were stored, also by leaders before. */
  async #records(key: string, own: readonly DecisionRecord[]): Promise<readonly DecisionRecord[]> {
    const oldestMs = own.at(-1)?.firstAtMs ?? Number.POSITIVE_INFINITY;
    const stored = await this.#options.store.decisions(key);
    // Written by `RunningTerm` alone, from a record of this type.
    const older = stored.filter(({ atMs }) => atMs < oldestMs).map(({ decision }) => decision as DecisionRecord);
    return [...own, ...older];
  }

  async #stored(key: string): Promise<Pick<Parameters<typeof explainApplication>[1], 'desired' | 'workers'>> {
    const { workers, applications } = await this.#options.store.read();
    const desired = applications.find(({ application }) => application === key)?.desired ?? 0;
    const own = workers.filter(({ versionKey, isIsolated }) => !isIsolated && versionKey?.startsWith(`${key}:`));
    // What each worker does is known to the leader alone.
    return { desired, workers: { ready: own.length, starting: 0, draining: 0 } };
  }
}
