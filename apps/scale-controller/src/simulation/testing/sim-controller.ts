import type { RuntimeAttach, RuntimeMessage } from '@drover/scale-link';
import { toPlacedApplication } from '../../catalog/placed-application.js';
import { policyOf } from '../../decisions/policy.js';
import { defaultPoolPolicy } from '../../decisions/pool-size.js';
import type { ScalePolicy } from '../../decisions/types.js';
import { placementRules } from '../../placement/placement-options.js';
import type { PlacementCommand, PlacementEffect, PlacementEvent } from '../../placement/placement-types.js';
import { Placement } from '../../placement/placement.js';
import { PoolSizing } from '../../term/pool-sizing.js';
import { ScaleDecisions } from '../../term/scale-decisions.js';
import type { PlantedBug } from './planted-bugs.js';
import type { SimApplication } from './sim-applications.js';
import { SimViolation, type SimClock } from './sim-clock.js';
import type { SimDatabase } from './sim-lease.js';
import type { SimProvider } from './sim-provider.js';

interface SimControllerOptions {
  readonly clock: SimClock;
  readonly id: string;
  readonly database: SimDatabase;
  readonly provider: SimProvider;
  readonly applications: ReadonlyMap<string, SimApplication>;
  readonly bug: PlantedBug;
  readonly send: (controllerId: string, runtimeId: string, command: PlacementCommand & { token: number }) => void;
  readonly detachAll: (controllerId: string) => void;
  /** A placeholder is about to load an application: the worst moment for a crash. */
  readonly onSpecialize: (controllerId: string, runtimeId: string) => void;
  /** Counts the changes of direction of the desired number. */
  readonly onDesired: (application: string, workers: number) => void;
}

interface SimTerm {
  readonly token: number;
  heldUntilMs: number;
  isOver: boolean;
  isAdopted: boolean;
  /** Workers that serve, with their applications. */
  serving: ReadonlyMap<string, string>;
  readonly placement: Placement;
  readonly decisions: ScaleDecisions;
  readonly pool: PoolSizing;
}

const ttlMs = 3_000;
/** Quicker than by default, so that an application is at zero before the end. */
const slewDown = { factor: 0.5, add: 1, periodMs: 4_000 };

/** A scale controller process: the real decisions and the real placement in a shell that crashes, pauses and loses calls. */
export class SimController {
  readonly id: string;
  isUp = true;
  readonly #options: SimControllerOptions;
  /** Changes with every start of the process. */
  #life = 0;
  #pausedUntilMs = 0;
  #term: SimTerm | undefined;
  #lastWriteMs = 0;

  constructor(options: SimControllerOptions) {
    this.#options = options;
    this.id = options.id;
    options.clock.every(500, () => this.#run(() => this.#campaign()));
    options.clock.every(1_000, () => this.#run(() => this.#tick()));
    options.clock.every(5_000, () => this.#run(() => this.#list()));
  }

  /** Whether runtimes may attach. */
  get accepts(): boolean {
    return this.isUp && this.#term?.isAdopted === true && !this.#term.isOver;
  }

  get placement(): Placement | undefined {
    return this.accepts ? this.#term?.placement : undefined;
  }

  crash(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.#life += 1;
    this.#term = undefined;
    this.#options.detachAll(this.id);
    this.#options.clock.log(`${this.id} crashes`);
  }

  restart(): void {
    this.isUp = true;
    this.#pausedUntilMs = 0;
    this.#options.clock.log(`${this.id} starts again`);
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = this.#options.clock.nowMs + forMs;
    this.#options.clock.log(`${this.id} is paused for ${forMs.toFixed(0)} ms`);
  }

  attached(attach: RuntimeAttach): void {
    this.#run(() => this.#step({ kind: 'attached', attach }));
  }

  detached(runtimeId: string, incarnation: string): void {
    this.#run(() => {
      this.#term?.decisions.detached(runtimeId);
      this.#step({ kind: 'detached', runtimeId, incarnation });
    });
  }

  received(runtimeId: string, message: Exclude<RuntimeMessage, RuntimeAttach>): void {
    this.#run(() => this.#receive(runtimeId, message));
  }

  instanceChanged(event: Extract<PlacementEvent, { kind: 'instance' }>): void {
    this.#run(() => this.#step(event));
  }

  applicationChanged(application: SimApplication): void {
    this.#run(() => {
      if (!this.#term?.isAdopted) return;
      this.#step({ kind: 'application', application: this.#placed(application) });
      this.#term?.decisions.woken(application.key, 'deployed');
      this.#decide([application]);
    });
  }

  /** Runs now, when the pause is over, or never if the process has crashed meanwhile. */
  #run(action: () => void): void {
    const { clock } = this.#options;
    const life = this.#life;
    if (!this.isUp) return;
    if (clock.nowMs >= this.#pausedUntilMs) return action();
    clock.after(this.#pausedUntilMs - clock.nowMs, () => {
      if (this.isUp && this.#life === life) this.#run(action);
    });
  }

  /** Runs after a call over the network, in the same life. */
  #later(action: () => void, delayMs = this.#options.clock.latency()): void {
    const life = this.#life;
    this.#options.clock.after(delayMs, () => {
      if (this.isUp && this.#life === life) this.#run(action);
    });
  }

  #isHeld(term: SimTerm): boolean {
    if (term.isOver) return false;
    return this.#options.bug.ignoresLease === true || this.#options.clock.nowMs < term.heldUntilMs;
  }

  #campaign(): void {
    const { clock, database } = this.#options;
    const askedMs = clock.nowMs;
    const term = this.#term;
    if (term && !this.#isHeld(term)) return this.#resign('the lease was not renewed in time');
    clock.after(clock.latency(), () => {
      // The database acts on the call even if the caller has crashed since.
      const life = this.#life;
      if (term) {
        const isRenewed = database.renew(this.id, term.token, ttlMs);
        this.#later(() => {
          if (this.#term !== term) return;
          if (isRenewed) term.heldUntilMs = Math.max(term.heldUntilMs, askedMs + ttlMs);
          else if (this.#options.bug.ignoresLease !== true) this.#resign('another one leads');
        });
        return;
      }
      if (!this.isUp || this.#term) return;
      const token = database.acquire(this.id, () => this.isUp && this.#life === life, ttlMs);
      if (token !== undefined) this.#later(() => this.#elected(token, askedMs + ttlMs));
    });
  }

  #elected(token: number, heldUntilMs: number): void {
    const { clock, bug, provider, database, applications } = this.#options;
    if (this.#term) return;
    clock.log(`${this.id} is elected with token ${token}`);
    const term: SimTerm = {
      token,
      heldUntilMs,
      isOver: false,
      isAdopted: false,
      serving: new Map(),
      placement: new Placement({
        newId: () => clock.id('w'),
        placeholderTtlMs: () => 20 * 60_000,
        pool: { min: 2, max: 4 },
        maxWorkers: 30,
        runtimes: 0,
        workerArguments: ({ host, requestId }) => [host, requestId],
        rules: { ...placementRules, ...bug.rules },
      }),
      decisions: new ScaleDecisions({ maxWorkers: 30, tenants: new Map() }),
      pool: new PoolSizing({ ...defaultPoolPolicy, minPlaceholders: 2, maxPlaceholders: 4 }),
    };
    this.#term = term;
    this.#later(() => {
      if (this.#term !== term || !this.#isHeld(term)) return;
      const instances = provider.list(token);
      if (!instances) return this.#resign('the provider has seen a newer token');
      const workers = [...database.workers.values()];
      const stored = [...database.applications.values()];
      for (const { application, desired } of stored) term.decisions.adopt(application, desired, clock.nowMs);
      const catalog = [...applications.values()].map((application) => this.#placed(application));
      term.isAdopted = true;
      this.#step({ kind: 'pool', target: 2 });
      this.#step({ kind: 'adopt', workers, applications: stored, catalog, instances });
    });
  }

  #resign(reason: string): void {
    const term = this.#term;
    if (!term) return;
    term.isOver = true;
    this.#term = undefined;
    this.#options.clock.log(`${this.id} does not lead any more: ${reason}`);
    this.#options.detachAll(this.id);
  }

  #receive(runtimeId: string, message: Exclude<RuntimeMessage, RuntimeAttach>): void {
    const term = this.#term;
    if (!term?.isAdopted) return;
    if (message.kind === 'sample') return term.decisions.sampled(runtimeId, message, this.#options.clock.nowMs);
    if (message.kind === 'worker') return this.#step({ kind: 'worker', runtimeId, worker: message.worker });
    if (message.kind === 'answer') {
      if (message.error?.code === 'SCALE_LINK_FENCED') return this.#resign('a runtime has seen a newer token');
      return this.#step({ kind: 'answer', runtimeId, commandId: message.commandId, error: message.error });
    }
    term.decisions.woken(message.application, message.replaces === undefined ? 'event' : 'replace');
    const application = this.#options.applications.get(message.application);
    if (application) this.#decide([application]);
    this.#step({ kind: 'request', runtimeId, request: message });
  }

  #tick(): void {
    const term = this.#term;
    if (!term?.isAdopted || !this.#isHeld(term)) return;
    this.#decide([...this.#options.applications.values()]);
    this.#step({ kind: 'tick' });
    const headroom = 30 - term.placement.assignedCount();
    this.#step({ kind: 'pool', target: term.pool.size(this.#options.clock.nowMs, headroom) });
  }

  #list(): void {
    const term = this.#term;
    const asOfMs = this.#options.clock.nowMs;
    if (!term?.isAdopted || !this.#isHeld(term)) return;
    this.#later(() => {
      const instances = this.#options.provider.list(term.token);
      if (!instances) return this.#resign('the provider has seen a newer token');
      this.#step({ kind: 'instances', instances, asOfMs });
    });
  }

  #decide(applications: readonly SimApplication[]): void {
    const term = this.#term;
    if (!term?.isAdopted || !this.#isHeld(term)) return;
    const members = applications.map((application) => ({
      application: application.key,
      tenantId: application.catalog.tenantId,
      policy: this.#policy(application),
      workers: term.placement.countsOf(application.key),
      runtimeId: term.placement.homeOf(application.key),
      usage: undefined,
      cores: undefined,
    }));
    for (const { application, decision } of term.decisions.decide(members, this.#options.clock.nowMs)) {
      this.#options.onDesired(application, decision.desired);
      if (term.placement.desiredOf(application) !== decision.desired)
        this.#step({ kind: 'desired', application, workers: decision.desired });
    }
  }

  #policy({ catalog }: SimApplication): ScalePolicy {
    return { ...policyOf(catalog.scaling), concurrencyPerWorker: 2, slewDown, ...this.#options.bug.policy };
  }

  #placed(application: SimApplication): ReturnType<typeof toPlacedApplication> {
    return toPlacedApplication(application.catalog, this.#policy(application).maxWorkers, () => '/payloads');
  }

  #step(event: PlacementEvent): void {
    const term = this.#term;
    const { clock, bug } = this.#options;
    if (!term?.isAdopted || !this.#isHeld(term) || event.kind === bug.drops) return;
    const effects = term.placement.step(event, clock.nowMs);
    if (effects.length > 0) this.#checkDrains(term, effects);
    for (const effect of effects) {
      if (!this.#isHeld(term)) return;
      this.#perform(term, effect);
    }
  }

  #perform(term: SimTerm, effect: PlacementEffect): void {
    const { clock, provider, database, send } = this.#options;
    const { token } = term;
    switch (effect.kind) {
      case 'start': {
        clock.log(`${this.id} starts ${effect.spec.instanceId} for ${effect.row?.versionKey ?? 'the pool'}`);
        const { row } = effect;
        if (row) this.#write(term, () => void database.workers.set(row.workerId, row));
        this.#later(
          () => {
            if (this.#isHeld(term)) this.#call(() => provider.start(effect.spec, token));
          },
          this.#lastWriteMs - clock.nowMs + clock.latency(),
        );
        return;
      }
      case 'end':
        clock.log(`${this.id} ends ${effect.instanceId}`);
        return this.#call(() => provider.end(effect.instanceId, effect.graceMs, token));
      case 'forget':
        return this.#call(() => provider.forget(effect.instanceId, token));
      case 'send':
        if (effect.command.kind === 'specialize') this.#options.onSpecialize(this.id, effect.runtimeId);
        return send(this.id, effect.runtimeId, { ...effect.command, token });
      case 'save-worker':
        return this.#write(term, () => void database.workers.set(effect.row.workerId, effect.row));
      case 'drop-worker':
        return this.#write(term, () => void database.workers.delete(effect.workerId));
      case 'save-application':
        return this.#write(term, () => void database.applications.set(effect.row.application, effect.row));
      case 'drop-application':
        return this.#write(term, () => void database.applications.delete(effect.application));
      case 'deleted':
        return;
      case 'note':
        return this.#learn(term, effect.note);
    }
  }

  #learn(term: SimTerm, note: Extract<PlacementEffect, { kind: 'note' }>['note']): void {
    const { nowMs } = this.#options.clock;
    if (note.kind === 'placement.specialized') term.pool.taken(nowMs);
    else if (note.kind === 'placement.pool-missed') term.pool.missed(nowMs);
    else if (note.kind === 'placement.idle') term.pool.replenished(note.tookMs);
    else if (note.kind === 'placement.ready') term.decisions.started(note.tookMs);
    else if (note.kind === 'placement.lost')
      this.#options.clock.log(`${this.id} lost ${note.workerId}: ${note.reason}`);
  }

  /** A call that is on its way arrives, whatever happens to the caller; its answer does not. */
  #call(act: () => boolean): void {
    const { clock } = this.#options;
    clock.after(clock.chance(0.01) ? clock.between(1_000, 6_000) : clock.latency(), () => {
      if (!act()) this.#later(() => this.#resign('the provider has seen a newer token'));
    });
  }

  /** Writes are in order. One that was sent by a process that crashed may be lost. */
  #write(term: SimTerm, change: () => void): void {
    const { clock, database } = this.#options;
    this.#lastWriteMs = Math.max(this.#lastWriteMs, clock.nowMs + clock.latency());
    const life = this.#life;
    const survives = clock.chance(0.5);
    clock.after(this.#lastWriteMs - clock.nowMs, () => {
      if ((this.#life !== life || !this.isUp) && !survives) return;
      if (!database.write(term.token, change)) this.#later(() => this.#resign('another leader has stored its token'));
    });
  }

  #serving({ placement }: SimTerm): ReadonlyMap<string, string> {
    const serving = new Map<string, string>();
    // Elsewhere the application is removed: its workers there serve nothing.
    for (const key of this.#options.applications.keys())
      for (const { workerId, state, runtimeId } of placement.workersOf(key))
        if (state === 'ready' && runtimeId === placement.homeOf(key)) serving.set(workerId, key);
    return serving;
  }

  /** An application that wants workers keeps one that serves until another does. */
  #checkDrains(term: SimTerm, effects: readonly PlacementEffect[]): void {
    const before = term.serving;
    const drained = effects.flatMap((effect) =>
      effect.kind === 'send' && effect.command.kind === 'drain' ? [before.get(effect.command.workerId)] : [],
    );
    term.serving = this.#serving(term);
    const after = new Set(term.serving.values());
    for (const application of drained)
      if (application !== undefined && !after.has(application) && term.decisions.desired(application) > 0)
        throw new SimViolation(`${this.id} drains the last worker of ${application} that serves`);
  }
}
