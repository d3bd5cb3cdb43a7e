import type { ApplicationCatalog, CatalogApplication, CatalogMirror, RollbackWatch } from '@drover/application-catalog';
import type { RuntimeAttach, RuntimeMessage } from '@drover/scale-link';
import type { Instance, InstanceProvider } from '@drover/instance-provider';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { toPlacedApplication, type PayloadDirectory } from '../catalog/placed-application.js';
import { CollectionFleet, type CollectionFleetParts } from '../collection-workers/collection-fleet.js';
import type { CollectionFleetObservation } from '../collection-workers/observations.js';
import type { FleetLimits, PoolPolicy } from '../decisions/fleet-types.js';
import type { ScaleDecision, ScalePolicy, WorkerCounts } from '../decisions/types.js';
import type { DesiredStateStore } from '../desired-state/desired-state-store.js';
import { DesiredStateWriter } from '../desired-state/desired-state-writer.js';
import type { LeaderTerm } from '../leadership/leadership.js';
import type { RuntimeLinks, RuntimeListener } from '../link/runtime-links.js';
import type { PlacementOptions } from '../placement/placement-options.js';
import type { PlacedApplication, PlacementEffect, PlacementEvent } from '../placement/placement-types.js';
import { Placement } from '../placement/placement.js';
import { placeholderTtlMs } from '../pool/pool-plan.js';
import { EffectRunner } from './effect-runner.js';
import type { TermObservation } from './observations.js';
import { PoolSizing } from './pool-sizing.js';
import { ScaleDecisions, type DecidedApplication } from './scale-decisions.js';
import { UsageOfWorkers } from './usage-of-workers.js';

export interface LeaderTermOptions {
  readonly term: LeaderTerm;
  readonly provider: InstanceProvider;
  readonly store: DesiredStateStore;
  readonly catalog: Pick<CatalogMirror, 'all' | 'get'>;
  readonly removals: Pick<ApplicationCatalog, 'completeRemoval'>;
  /** Takes the traffic from new versions that fail. */
  readonly rollbacks: Pick<RollbackWatch, 'record' | 'forgetIdle'>;
  readonly directoryOf: PayloadDirectory;
  readonly links: RuntimeLinks;
  readonly policyOf: (application: CatalogApplication) => ScalePolicy;
  readonly limits: FleetLimits;
  readonly poolPolicy: PoolPolicy;
  readonly placement: Omit<PlacementOptions, 'newId' | 'placeholderTtlMs'>;
  readonly collectionWorkers: CollectionFleetParts;
  readonly resign: (reason: string) => void;
  readonly onDecision: (application: string, decision: ScaleDecision, policy: ScalePolicy) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TermObservation | CollectionFleetObservation>;
}

/** Ticks between two lists of all instances, beside the events of the provider, while no application has calls. */
const ticksPerList = 5;
const ticksPerSweep = 60;
const tickMs = 1_000;
const fencedCode = 'SCALE_LINK_FENCED';

/**
 * What a leader does from its election to its end: adopts what runs, listens to runtimes, instances and the catalog, decides each
 * second and on every urgent request, and acts. Nothing of it outlives the term; everything that must is stored.
 */
export class RunningTerm implements RuntimeListener {
  readonly #options: LeaderTermOptions;
  readonly #placement: Placement;
  readonly #decisions: ScaleDecisions;
  readonly #pool: PoolSizing;
  readonly #usage = new UsageOfWorkers();
  readonly #writer: DesiredStateWriter;
  readonly #effects: EffectRunner;
  readonly #collections: CollectionFleet;
  /** Makes one timeline of wall clock and monotonic clock: it never jumps, and means the same in another process. */
  readonly #epochMs: number;
  #isOver = false;
  #ticks = 0;
  #isListing = false;
  #cancelTick = (): void => undefined;
  #unsubscribe = (): void => undefined;

  constructor(options: LeaderTermOptions) {
    this.#options = options;
    const { clock, randomness, observe, term, provider, links, store, resign } = options;
    this.#epochMs = clock.now() - clock.monotonicMs();
    this.#placement = new Placement({
      ...options.placement,
      newId: () => randomness.uuid(),
      placeholderTtlMs: () => placeholderTtlMs(randomness.fraction()),
    });
    this.#decisions = new ScaleDecisions(options.limits);
    this.#pool = new PoolSizing(options.poolPolicy);
    const { token } = term;
    const onFenced = (reason = 'another leader has stored its token'): void => resign(reason);
    this.#writer = new DesiredStateWriter({
      store,
      token,
      onFenced: () => onFenced(),
      onFailed: (error) => observe({ kind: 'scale.state-unwritten', reason: String(error) }),
      clock,
      randomness,
    });
    this.#effects = new EffectRunner({
      token,
      provider,
      writer: this.#writer,
      links,
      isHeld: () => !this.#isOver && term.isHeld(),
      onStartFailed: (instanceId, reason) => this.#step({ kind: 'start-failed', instanceId, reason }),
      onDeleted: (application) => this.#completeRemoval(application),
      onFenced,
      observe,
    });
    this.#collections = new CollectionFleet({ ...options, ...options.collectionWorkers });
  }

  /** Adopts what the leader before left, then lets runtimes attach. Rejects if the database or the provider does not answer. */
  async start(): Promise<void> {
    const { provider, store, term, catalog, links, clock, observe, poolPolicy } = this.#options;
    const startedMs = clock.monotonicMs();
    const early: PlacementEvent[] = [];
    let deliver = (event: PlacementEvent): void => void early.push(event);
    this.#unsubscribe = provider.subscribe(({ instance }) => {
      if (isCollectionWorker(instance)) this.#collections.changed(instance);
      else deliver({ kind: 'instance', instance });
    });
    // With the token: from now on no earlier leader can start or end anything.
    const [listed, stored] = await Promise.all([provider.list(term.token), store.read()]);
    if (this.#isOver) return;
    const instances = listed.filter((instance) => !isCollectionWorker(instance));
    this.#usage.listed(instances, this.#nowMs());
    this.#step({ kind: 'pool', target: poolPolicy.minPlaceholders });
    for (const { application, desired } of stored.applications)
      this.#decisions.adopt(application, desired, this.#nowMs());
    const applications = catalog.all();
    const placed = applications.flatMap((application) => this.#placed(application) ?? []);
    this.#step({ kind: 'adopt', ...stored, catalog: placed, instances });
    for (const { application } of placed) if (!this.#decisions.isKnown(application)) this.#deployed(application);
    deliver = (event) => this.#step(event);
    for (const event of early) this.#step(event);
    links.listen(this);
    this.#tick();
    this.#collections.start(listed.filter(isCollectionWorker));
    observe({ kind: 'scale.adopted', token: term.token, durationMs: clock.monotonicMs() - startedMs });
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTick();
    this.#collections.stop();
    this.#unsubscribe();
    this.#options.links.listen(undefined);
    this.#writer.stop();
  }

  attached(attach: RuntimeAttach): void {
    this.#step({ kind: 'attached', attach });
  }

  detached(runtimeId: string, incarnation: string): void {
    this.#decisions.detached(runtimeId);
    this.#step({ kind: 'detached', runtimeId, incarnation });
  }

  received(runtimeId: string, message: Exclude<RuntimeMessage, RuntimeAttach>): void {
    switch (message.kind) {
      case 'sample':
        for (const { application, versions } of message.applications)
          this.#options.rollbacks.record(application, versions);
        return this.#decisions.sampled(runtimeId, message, this.#nowMs());
      case 'worker':
        return this.#step({ kind: 'worker', runtimeId, worker: message.worker });
      case 'answer':
        if (message.error?.code === fencedCode) return this.#options.resign(message.error.message);
        return this.#step({ kind: 'answer', runtimeId, commandId: message.commandId, error: message.error });
      case 'request':
        // Decided first: the rule that an event without a worker needs one must find none, not the one that is placed for it.
        this.#decisions.woken(message.application, message.replaces === undefined ? 'event' : 'replace');
        this.#decideOne(message.application);
        return this.#step({ kind: 'request', runtimeId, request: message });
    }
  }

  /** The catalog has changed; undefined: the application was removed there. */
  changed(key: string, application: CatalogApplication | undefined): void {
    const placed = application && this.#placed(application);
    if (application && !placed) return;
    if (placed) {
      this.#step({ kind: 'application', application: placed });
      if (!placed.isDeleting) return this.#deployed(key);
    } else this.#step({ kind: 'application-removed', application: key });
    this.#decisions.forget(key);
  }

  desired(application: string): number {
    return this.#decisions.desired(application);
  }

  countsOf(application: string): WorkerCounts {
    return this.#placement.countsOf(application);
  }

  census(): ReturnType<Placement['census']> {
    return this.#placement.census();
  }

  #nowMs(): number {
    return this.#epochMs + this.#options.clock.monotonicMs();
  }

  #step(event: PlacementEvent): void {
    if (this.#isOver || !this.#options.term.isHeld()) return;
    const nowMs = this.#nowMs();
    const effects = this.#placement.step(event, nowMs);
    this.#effects.run(effects);
    this.#learn(effects, nowMs);
  }

  /** Measures how workers start and how placeholders are used. */
  #learn(effects: readonly PlacementEffect[], nowMs: number): void {
    let hasMissed = false;
    for (const effect of effects) {
      if (effect.kind !== 'note') continue;
      const { note } = effect;
      if (note.kind === 'placement.specialized') this.#pool.taken(nowMs);
      else if (note.kind === 'placement.idle') this.#pool.replenished(note.tookMs);
      else if (note.kind === 'placement.ready') this.#decisions.started(note.tookMs);
      else if (note.kind === 'placement.pool-missed') {
        this.#pool.missed(nowMs);
        hasMissed = true;
      }
    }
    // The next event must not find the pool empty, too.
    if (hasMissed) this.#sizePool(nowMs);
  }

  #tick(): void {
    if (this.#isOver) return;
    this.#cancelTick = this.#options.clock.after(tickMs, () => this.#tick());
    this.#ticks += 1;
    this.#decideAll();
    // After the decisions: a worker must not go in the moment in which it is wanted again.
    this.#step({ kind: 'tick' });
    this.#sizePool(this.#nowMs());
    if (this.#isListDue() && !this.#isListing) void this.#list();
    if (this.#ticks % ticksPerSweep === 0) this.#options.rollbacks.forgetIdle();
  }

  #isListDue(): boolean {
    const [isBegin, isRegular] = [this.#ticks < ticksPerList, this.#ticks % ticksPerList === 0];
    // Under load each second, because what workers use decides how many are needed; and until the machine is known.
    return isRegular || (isBegin && this.#usage.cores === undefined) || this.#decisions.isAnyBusy(this.#nowMs());
  }

  async #list(): Promise<void> {
    const { provider, term, clock, observe } = this.#options;
    const [asOfMs, sentMs] = [this.#nowMs(), clock.monotonicMs()];
    this.#isListing = true;
    try {
      const listed = await provider.list(term.token);
      this.#collections.listed(listed.filter(isCollectionWorker), sentMs);
      const instances = listed.filter((instance) => !isCollectionWorker(instance));
      this.#usage.listed(instances, asOfMs);
      this.#step({ kind: 'instances', instances, asOfMs });
    } catch (error) {
      observe({ kind: 'scale.call-failed', call: 'list', instanceId: 'all instances', reason: String(error) });
    } finally {
      this.#isListing = false;
    }
  }

  #decideAll(): void {
    const { catalog, clock, observe } = this.#options;
    const startedMs = clock.monotonicMs();
    const applications = catalog.all().flatMap((application) => this.#decided(application) ?? []);
    this.#decide(applications);
    observe({ kind: 'scale.pass', durationMs: clock.monotonicMs() - startedMs, applications: applications.length });
  }

  #decideOne(application: string): void {
    const known = this.#options.catalog.get(application);
    const decided = known && this.#decided(known);
    if (decided) this.#decide([decided]);
  }

  #decide(applications: readonly DecidedApplication[]): void {
    const { onDecision, observe } = this.#options;
    const nowMs = this.#nowMs();
    for (const { application, decision, policy } of this.#decisions.decide(applications, nowMs)) {
      const { previous: from, desired: to, cause, isOscillation } = decision;
      onDecision(application, decision, policy);
      if (from !== to) {
        observe({ kind: 'scale.decided', application, from, to, cause, isOscillation });
        const record = { firstAtMs: nowMs, count: 1, decision, policy };
        this.#writer.record({ application, atMs: nowMs, decision: record });
      }
      if (this.#placement.desiredOf(application) !== to) this.#step({ kind: 'desired', application, workers: to });
    }
  }

  #decided(application: CatalogApplication): DecidedApplication | undefined {
    const { tenantId, applicationId, isDeleting } = application;
    if (isDeleting) return undefined;
    const key = `${tenantId}/${applicationId}`;
    const { policyOf } = this.#options;
    const [workers, runtimeId] = [this.#placement.countsOf(key), this.#placement.homeOf(key)];
    const workerIds = workers.ready === 0 ? [] : this.#placement.workersOf(key).map(({ workerId }) => workerId);
    const usage = this.#usage.of(workerIds, this.#nowMs());
    const { cores } = this.#usage;
    return { application: key, tenantId, policy: policyOf(application), workers, runtimeId, usage, cores };
  }

  /** A deployment counts as activity: its first call shall be quick. */
  #deployed(application: string): void {
    this.#decisions.woken(application, 'deployed');
    this.#decideOne(application);
  }

  #sizePool(nowMs: number): void {
    const headroom = Math.max(0, this.#options.limits.maxWorkers - this.#placement.assignedCount());
    this.#step({ kind: 'pool', target: this.#pool.size(nowMs, headroom) });
  }

  #placed(application: CatalogApplication): PlacedApplication | undefined {
    const { policyOf, directoryOf, observe } = this.#options;
    try {
      return toPlacedApplication(application, policyOf(application).maxWorkers, directoryOf);
    } catch (error) {
      const name = `${application.tenantId}/${application.applicationId}`;
      observe({ kind: 'scale.application-unusable', application: name, reason: String(error) });
      return undefined;
    }
  }

  #completeRemoval(key: string): void {
    const { catalog, removals, observe } = this.#options;
    const application = catalog.get(key);
    if (!application) return;
    removals.completeRemoval(application).catch((error: unknown) => {
      observe({ kind: 'scale.call-failed', call: 'remove', instanceId: key, reason: String(error) });
      // It is still in the catalog: the next pass finds nothing of it running and tries again.
      this.changed(key, catalog.get(key));
    });
  }
}

/** Processes of the collection fleet: placement would take them for orphans. */
function isCollectionWorker({ role }: Instance): boolean {
  return role === 'collection-worker';
}
