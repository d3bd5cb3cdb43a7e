import type { Placement } from '../../placement/placement.js';
import type { PlantedBug } from './planted-bugs.js';
import { changeTraffic, simApplications, type SimApplication } from './sim-applications.js';
import { SimClock, SimViolation } from './sim-clock.js';
import { SimController } from './sim-controller.js';
import { SimDatabase } from './sim-lease.js';
import { SimNetwork } from './sim-network.js';
import { SimProvider, type SimProcess } from './sim-provider.js';
import { SimRuntime } from './sim-runtime.js';

export interface SimulationResult {
  readonly seed: number;
  /** What does not hold; undefined: everything does. */
  readonly violation: string | undefined;
  /** Of the course of events: the same seed has the same. */
  readonly hash: string;
  readonly lastEvents: readonly string[];
  readonly served: number;
  /** Most changes of direction of the desired number of an application. */
  readonly reversals: number;
}

/** Faults and arrivals end here; the rest is time to recover. */
const faultsUntilMs = 40_000;
const arrivalsUntilMs = 45_000;
/** Everything is at zero by then: idle time, stabilization, limits of shrinkage, and every limit of placement. */
const endMs = 115_000;
/** Changes of direction of the desired number of an application. A burst after idle time causes two. */
const mostReversals = 10;

/** Told to go, or not known to run: a new leader does not know what the one before told them. */
const notCounted = ['draining', 'ending', 'lost'];

/** Runs one course of events: several tenants, two runtimes, two scale controllers, and faults of all kinds. */
export function runSimulation(seed: number, bug: PlantedBug = {}): SimulationResult {
  const simulation = new Simulation(seed, bug);
  let violation: string | undefined;
  try {
    simulation.run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    violation = error instanceof SimViolation ? error.message : `${error.message}\n${error.stack ?? ''}`;
  }
  const { hash, lastEvents } = simulation.clock;
  const { served, reversals } = simulation;
  return { seed, violation, hash, lastEvents, served, reversals };
}

class Simulation {
  readonly clock: SimClock;
  readonly #applications: ReadonlyMap<string, SimApplication>;
  readonly #provider: SimProvider;
  readonly #controllers: readonly SimController[];
  readonly #runtimes: readonly SimRuntime[];
  readonly #network: SimNetwork;
  readonly #directions = new Map<string, { last: number; direction: number; reversals: number }>();

  constructor(seed: number, bug: PlantedBug) {
    const clock = new SimClock(seed);
    const acceptsAnyToken = bug.acceptsAnyToken === true;
    this.clock = clock;
    this.#applications = new Map(simApplications(clock).map((application) => [application.key, application]));
    this.#provider = new SimProvider({
      clock,
      acceptsAnyToken,
      onChanged: (instance) => {
        for (const controller of this.#controllers)
          clock.after(clock.latency(), () => controller.instanceChanged({ kind: 'instance', instance }));
      },
      onRunning: (process) => this.#connect(process, clock.nowMs + 30_000),
      onEnded: (process) => this.#runtimeOf(process)?.disconnect(process),
    });
    const database = new SimDatabase(clock, acceptsAnyToken);
    const shared = { clock, database, provider: this.#provider, applications: this.#applications, bug };
    this.#controllers = ['controller-1', 'controller-2'].map(
      (id) =>
        new SimController({
          ...shared,
          id,
          send: (...args) => this.#network.send(...args),
          detachAll: (controllerId) => this.#network.detachAll(controllerId),
          onSpecialize: (controllerId, runtimeId) => this.#atWorstMoment(controllerId, runtimeId),
          onDesired: (application, workers) => this.#noteDirection(application, workers),
        }),
    );
    this.#network = new SimNetwork(clock, this.#controllers);
    this.#runtimes = ['runtime-1', 'runtime-2'].map(
      (runtimeId) => new SimRuntime({ clock, runtimeId, applications: this.#applications, acceptsAnyToken }),
    );
    for (const runtime of this.#runtimes) this.#network.keepAttached(runtime);
  }

  get served(): number {
    return [...this.#applications.values()].reduce((sum, { served }) => sum + served, 0);
  }

  get reversals(): number {
    return Math.max(0, ...[...this.#directions.values()].map(({ reversals }) => reversals));
  }

  run(): void {
    for (const application of this.#applications.values()) this.#arrive(application);
    this.#fault();
    this.clock.every(500, () => this.#checkAlways());
    this.clock.runUntil(endMs);
    this.#checkEnd();
  }

  /** Bursts and pauses, different for each application. */
  #arrive(application: SimApplication): void {
    const { clock } = this;
    if (clock.nowMs > arrivalsUntilMs) return;
    for (let burst = clock.chance(0.1) ? clock.integer(5, 60) : 1; burst > 0; burst -= 1) {
      application.waiting.push(clock.nowMs);
      application.arrived += 1;
      application.arrivals += 1;
    }
    for (const runtime of this.#runtimes) if (runtime.hosts(application.key)) runtime.notice(application.key);
    const pauseMs = clock.chance(0.05) ? clock.between(2_000, 20_000) : clock.between(10, 800);
    clock.after(pauseMs, () => this.#arrive(application));
  }

  #fault(): void {
    const { clock } = this;
    clock.after(clock.between(100, 4_000), () => {
      if (clock.nowMs > faultsUntilMs) return clock.log('no more faults');
      this.#oneFault(clock.integer(0, 9));
      this.#fault();
    });
  }

  #oneFault(kind: number): void {
    const { clock } = this;
    const runtime = clock.pick(this.#runtimes);
    const controller = clock.pick(this.#controllers);
    const process = clock.pick(this.#provider.live());
    const worker = clock.pick([...(runtime?.workers.values() ?? [])]);
    if (kind === 0) this.#crashController(controller);
    else if (kind === 1) controller?.pause(clock.between(500, 8_000));
    else if (kind === 2) this.#crashRuntime(runtime);
    else if (kind === 3 && process) this.#provider.crash(process);
    else if (kind === 4 && worker) runtime?.hang(worker);
    else if (kind === 5 && runtime) this.#network.breakOf(runtime);
    else if (kind === 6) {
      this.#crashController(controller);
      this.#crashRuntime(runtime);
    } else if (kind === 7) for (const each of this.#controllers) this.#crashController(each);
    else this.#deploy();
  }

  /** Leader and runtime die while a placeholder becomes a worker, before the leader has stored which one. */
  #atWorstMoment(controllerId: string, runtimeId: string): void {
    const { clock } = this;
    if (clock.nowMs > faultsUntilMs || !clock.chance(0.1)) return;
    const controller = this.#controllers.find(({ id }) => id === controllerId);
    clock.after(clock.between(0, 5), () => this.#crashController(controller));
    const runtime = this.#runtimes.find((each) => each.runtimeId === runtimeId);
    clock.after(clock.between(100, 800), () => this.#crashRuntime(runtime));
  }

  #deploy(): void {
    const application = this.clock.pick([...this.#applications.values()]);
    if (!application) return;
    changeTraffic(this.clock, application);
    for (const controller of this.#controllers)
      this.clock.after(this.clock.latency(), () => controller.applicationChanged(application));
  }

  #crashController(controller: SimController | undefined): void {
    if (!controller?.isUp) return;
    controller.crash();
    this.clock.after(this.clock.between(200, 4_000), () => controller.restart());
  }

  #crashRuntime(runtime: SimRuntime | undefined): void {
    if (!runtime?.isUp) return;
    const connected = [...runtime.workers.values()].map(({ process }) => process);
    this.#network.breakOf(runtime);
    runtime.crash();
    this.clock.after(this.clock.between(200, 6_000), () => {
      runtime.restart();
      for (const process of connected) this.#connect(process, this.clock.nowMs + 30_000);
    });
  }

  /** A process tries to connect for as long as it may, then ends. */
  #connect(process: SimProcess, untilMs: number): void {
    const runtime = this.#runtimeOf(process);
    if (!process.isAlive || runtime?.connect(process)) return;
    if (this.clock.nowMs > untilMs) return this.#provider.crash(process);
    this.clock.after(this.clock.between(20, 500), () => this.#connect(process, untilMs));
  }

  #runtimeOf({ runtimeId }: SimProcess): SimRuntime | undefined {
    return this.#runtimes.find((runtime) => runtime.runtimeId === runtimeId);
  }

  #noteDirection(application: string, workers: number): void {
    const known = this.#directions.get(application) ?? { last: 0, direction: 0, reversals: 0 };
    const direction = Math.sign(workers - known.last);
    if (direction !== 0 && direction !== known.direction) {
      known.reversals += 1;
      known.direction = direction;
    }
    known.last = workers;
    this.#directions.set(application, known);
    if (known.reversals > mostReversals)
      throw new SimViolation(`${application} flaps: ${known.reversals} changes of direction`);
  }

  #checkAlways(): void {
    for (const application of this.#applications.values()) this.#checkApplication(application);
    const leaders = this.#controllers.filter(({ accepts }) => accepts);
    for (const { placement } of leaders)
      for (const { pool, state, workers } of placement?.census() ?? [])
        if (pool === 'placeholder' && state === 'placeholder' && workers > 8)
          throw new SimViolation(`${workers} placeholders wait`);
  }

  #checkApplication({
    key,
    maxWorkers,
    catalog,
    trafficChangedAtMs,
    arrived,
    served,
    waiting,
    inFlight,
  }: SimApplication): void {
    if (served + waiting.length + inFlight !== arrived) throw new SimViolation(`events of ${key} were lost`);
    const bound = Math.max(maxWorkers, Object.values(catalog.traffic).filter((share) => share > 0).length);
    // While a new version takes over, the old one stays until the new one is ready.
    const isRolling = this.clock.nowMs - trafficChangedAtMs < 60_000;
    for (const { placement } of this.#controllers) {
      const active = (placement?.workersOf(key) ?? []).filter(({ state }) => !notCounted.includes(state));
      if (active.length > bound * (isRolling ? 2 : 1))
        throw new SimViolation(`${key} has ${active.length} workers, and at most ${bound}`);
    }
    const counted = this.#provider
      .live()
      .filter(({ loaded, instance }) => instance.state === 'running' && loaded.has(`${key}:c1`));
    // Beyond what the leader wants, only workers that are about to end: of the leader before, or given up.
    if (counted.length > 4 * bound + 4) throw new SimViolation(`${counted.length} processes of ${key} run`);
  }

  #checkEnd(): void {
    const leaders = this.#controllers.filter(({ accepts }) => accepts);
    if (leaders.length !== 1) throw new SimViolation(`${leaders.length} controllers lead at the end`);
    const known = leaders[0]?.placement;
    for (const application of this.#applications.values()) this.#checkServed(application, known);
    for (const key of this.#applications.keys())
      if ((known?.workersOf(key) ?? []).length > 0) throw new SimViolation(`${key} is idle and not at zero at the end`);
    const idle = known?.census().reduce((sum, { workers }) => sum + workers, 0) ?? 0;
    const live = this.#provider.live().length;
    if (live !== idle) throw new SimViolation(`${live} processes run, and the leader knows ${idle}`);
  }

  #checkServed({ key, waiting, inFlight, served, arrived }: SimApplication, leader: Placement | undefined): void {
    if (waiting.length + inFlight === 0 && served === arrived) return;
    const hosts = this.#runtimes.filter((runtime) => runtime.hosts(key)).map(({ runtimeId }) => runtimeId);
    const states = leader?.workersOf(key).map(({ state }) => state);
    throw new SimViolation(
      `${key}: ${waiting.length} events wait and ${inFlight} run at the end; ${leader?.desiredOf(key)} workers are desired, ` +
        `there are [${states?.join()}], its home is ${leader?.homeOf(key)}, and [${hosts.join()}] host it`,
    );
  }
}
