import type {
  ApplicationSample,
  ControllerMessage,
  LinkedWorker,
  RuntimeAttach,
  RuntimeMessage,
} from '@drover/scale-link';
import type { SimApplication } from './sim-applications.js';
import { SimViolation, type SimClock } from './sim-clock.js';
import type { SimProcess } from './sim-provider.js';

interface ConnectedWorker {
  readonly process: SimProcess;
  versionKey: string | undefined;
  state: LinkedWorker['state'];
  inFlight: number;
  isHung: boolean;
}

/** Sends to the controller that the runtime is attached to. */
export interface RuntimeStream {
  send(message: RuntimeMessage): void;
}

interface SimRuntimeOptions {
  readonly clock: SimClock;
  readonly runtimeId: string;
  readonly applications: ReadonlyMap<string, SimApplication>;
  readonly acceptsAnyToken: boolean;
}

type CommandOf<Kind extends ControllerMessage['kind']> = Extract<ControllerMessage, { readonly kind: Kind }>;

/** Concurrent invocations of a worker. */
const slots = 2;

/** A runtime: hosts applications, lets expected workers in, takes events from sources, reports and requests. */
export class SimRuntime {
  readonly runtimeId: string;
  isUp = true;
  stream: RuntimeStream | undefined;
  incarnation: string;
  readonly workers = new Map<string, ConnectedWorker>();
  readonly #options: SimRuntimeOptions;
  readonly #expected = new Map<string, CommandOf<'expect'>>();
  readonly #hosted = new Map<string, number>();
  #highestToken = 0;

  constructor(options: SimRuntimeOptions) {
    this.#options = options;
    this.runtimeId = options.runtimeId;
    this.incarnation = options.clock.id('incarnation');
    options.clock.every(1_000, () => this.#sample());
  }

  hosts(application: string): boolean {
    return this.isUp && this.#hosted.has(application);
  }

  attach(): RuntimeAttach {
    return {
      kind: 'attach',
      runtimeId: this.runtimeId,
      incarnation: this.incarnation,
      endpoint: { host: this.runtimeId, port: 1 },
      functionsUrl: '',
      workers: [...this.workers.values()].map((worker) => linked(worker)),
      applications: Object.fromEntries(this.#hosted),
    };
  }

  /** Requests again what waits: the controller that heard it may be gone. */
  attached(): void {
    for (const application of this.#hosted.keys()) this.#wake(application);
  }

  crash(): void {
    this.isUp = false;
    this.stream = undefined;
    for (const worker of this.workers.values()) this.#returnEvents(worker);
    this.workers.clear();
    this.#expected.clear();
    this.#hosted.clear();
    this.#highestToken = 0;
    this.#options.clock.log(`${this.runtimeId} crashes`);
  }

  restart(): void {
    this.isUp = true;
    this.incarnation = this.#options.clock.id('incarnation');
    this.#options.clock.log(`${this.runtimeId} starts again`);
  }

  /** A process tries to connect. Returns false if it is not expected. */
  connect(process: SimProcess): boolean {
    const expected = this.#expected.get(process.instanceId);
    if (!this.isUp || this.workers.has(process.instanceId)) return this.isUp;
    if (expected?.requestId !== process.requestId) return false;
    this.#expected.delete(process.instanceId);
    const worker: ConnectedWorker = {
      process,
      versionKey: undefined,
      state: 'placeholder',
      inFlight: 0,
      isHung: false,
    };
    this.workers.set(process.instanceId, worker);
    if (expected.versionKey === undefined) this.#report(worker);
    else this.#load(worker, expected.versionKey, () => undefined);
    return true;
  }

  /** The stream of a worker ended with its process. */
  disconnect(process: SimProcess): void {
    const worker = this.workers.get(process.instanceId);
    if (worker) this.#lose(worker, 'worker-crash');
  }

  /** A worker stops to answer; after a while it is given up, and its process runs on. */
  hang(worker: ConnectedWorker): void {
    worker.isHung = true;
    this.#options.clock.after(this.#options.clock.between(500, 3_000), () => {
      if (this.workers.get(worker.process.instanceId) === worker) this.#lose(worker, 'worker-hung');
    });
  }

  received(command: ControllerMessage): void {
    const { token, commandId } = command;
    if (token < this.#highestToken) {
      if (this.#options.acceptsAnyToken)
        throw new SimViolation(`two leaders act on ${this.runtimeId}: ${command.kind}`);
      return this.#answer(commandId, 'SCALE_LINK_FENCED');
    }
    this.#highestToken = token;
    switch (command.kind) {
      case 'host': {
        const { tenantId, applicationId, generation } = command.application;
        this.#hosted.set(`${tenantId}/${applicationId}`, generation);
        this.#wake(`${tenantId}/${applicationId}`);
        return this.#answer(commandId);
      }
      case 'remove':
        this.#hosted.delete(command.application);
        return this.#answer(commandId);
      case 'park':
      case 'synced':
        return this.#answer(commandId);
      case 'expect':
        if (!this.workers.has(command.workerId)) this.#expected.set(command.workerId, command);
        return this.#answer(commandId);
      case 'specialize':
        return this.#specialize(command);
      case 'drain':
        return this.#drain(command);
    }
  }

  /** An event arrived: workers take it, or one is requested. */
  notice(application: string): void {
    for (const worker of this.workers.values())
      if (worker.versionKey?.startsWith(`${application}:`)) this.#take(worker);
    this.#wake(application);
  }

  #specialize({ workerId, versionKey, commandId }: CommandOf<'specialize'>): void {
    const worker = this.workers.get(workerId);
    if (!worker || worker.state !== 'placeholder') return this.#answer(commandId, 'SCALE_LINK_WORKER_UNKNOWN');
    this.#load(worker, versionKey, (error) => this.#answer(commandId, error));
  }

  #load(worker: ConnectedWorker, versionKey: string, done: (error?: string) => void): void {
    const { clock } = this.#options;
    worker.versionKey = versionKey;
    worker.state = 'specializing';
    this.#report(worker);
    const { loaded, instanceId } = worker.process;
    loaded.add(versionKey);
    if (loaded.size > 1) throw new SimViolation(`${instanceId} was given to ${[...loaded].join(' and ')}`);
    clock.after(clock.between(10, 300), () => {
      if (this.workers.get(instanceId) !== worker || worker.state !== 'specializing') return;
      if (clock.chance(0.02)) {
        done('RUNTIME_SPECIALIZATION_FAILED');
        return this.#lose(worker, 'specialization-failed');
      }
      worker.state = 'ready';
      this.#report(worker);
      done();
      this.#take(worker);
    });
  }

  #drain({ workerId, commandId }: CommandOf<'drain'>): void {
    const worker = this.workers.get(workerId);
    if (!worker) return this.#answer(commandId);
    worker.state = 'draining';
    this.#report(worker);
    const finish = (): void => {
      if (worker.inFlight > 0 && this.workers.has(workerId)) return this.#options.clock.after(50, finish);
      this.workers.delete(workerId);
      const gone = { workerId, state: 'gone' as const, versionKey: worker.versionKey, reason: 'drained' };
      this.stream?.send({ kind: 'worker', worker: gone });
      this.#answer(commandId);
    };
    finish();
  }

  #take(worker: ConnectedWorker): void {
    const { clock, applications } = this.#options;
    const application = applications.get(worker.versionKey?.split(':')[0] ?? '');
    if (!application) return;
    while (worker.state === 'ready' && !worker.isHung && worker.inFlight < slots) {
      if (application.waiting.shift() === undefined) return;
      worker.inFlight += 1;
      application.inFlight += 1;
      clock.after(application.serviceMs * clock.between(0.5, 1.5), () => {
        if (this.workers.get(worker.process.instanceId) !== worker || worker.isHung || worker.inFlight === 0) return;
        worker.inFlight -= 1;
        application.inFlight -= 1;
        application.served += 1;
        application.completions += 1;
        this.#take(worker);
      });
    }
  }

  /** Its events are delivered again. */
  #returnEvents(worker: ConnectedWorker): void {
    const application = this.#options.applications.get(worker.versionKey?.split(':')[0] ?? '');
    if (!application) return;
    for (; worker.inFlight > 0; worker.inFlight -= 1) {
      application.inFlight -= 1;
      application.waiting.push(this.#options.clock.nowMs);
    }
  }

  #lose(worker: ConnectedWorker, reason: string): void {
    const { versionKey, process } = worker;
    this.#returnEvents(worker);
    this.workers.delete(process.instanceId);
    this.stream?.send({ kind: 'worker', worker: { workerId: process.instanceId, state: 'gone', versionKey, reason } });
    if (versionKey === undefined) return;
    const application = versionKey.split(':')[0] ?? '';
    const priority = this.#isServed(application) ? 'normal' : 'urgent';
    this.#request(application, { priority, reason, replaces: process.instanceId, versionKey });
  }

  #wake(application: string): void {
    const waits = (this.#options.applications.get(application)?.waiting.length ?? 0) > 0;
    if (waits && this.hosts(application) && !this.#isServed(application))
      this.#request(application, { priority: 'urgent', reason: 'wake', replaces: undefined, versionKey: undefined });
  }

  #request(
    application: string,
    facts: Pick<Extract<RuntimeMessage, { kind: 'request' }>, 'priority' | 'reason' | 'replaces' | 'versionKey'>,
  ): void {
    this.stream?.send({ kind: 'request', application, isIsolated: false, ...facts });
  }

  #isServed(application: string): boolean {
    return [...this.workers.values()].some(
      ({ versionKey, state }) => state === 'ready' && versionKey?.startsWith(`${application}:`),
    );
  }

  #report(worker: ConnectedWorker): void {
    this.stream?.send({ kind: 'worker', worker: linked(worker) });
  }

  #answer(commandId: number, code?: string): void {
    this.stream?.send({ kind: 'answer', commandId, ...(code !== undefined && { error: { code, message: code } }) });
  }

  #sample(): void {
    if (!this.isUp || !this.stream) return;
    // Listeners also find what a lost worker gave back.
    for (const key of this.#hosted.keys()) this.notice(key);
    const applications = [...this.#hosted.keys()].flatMap((key) => {
      const application = this.#options.applications.get(key);
      return application ? [this.#sampleOf(application)] : [];
    });
    this.stream.send({ kind: 'sample', atMs: this.#options.clock.nowMs, memory: 0.1, applications });
  }

  #sampleOf(application: SimApplication): ApplicationSample {
    const { key, waiting, serviceMs, arrivals, completions } = application;
    const ready = [...this.workers.values()].filter(
      ({ state, versionKey }) => state === 'ready' && versionKey?.startsWith(`${key}:`),
    );
    application.arrivals = 0;
    application.completions = 0;
    const inFlight = ready.reduce((sum, worker) => sum + worker.inFlight, 0);
    const oldestAgeMs = waiting[0] === undefined ? 0 : this.#options.clock.nowMs - waiting[0];
    return {
      application: key,
      inFlight,
      waiting: 0,
      capacity: ready.length * slots,
      readyWorkers: ready.length,
      arrivals,
      completions,
      failures: 0,
      meanServiceMs: completions > 0 ? serviceMs : undefined,
      p95ServiceMs: completions > 0 ? serviceMs : undefined,
      versions: {},
      cpu: undefined,
      memory: undefined,
      isBackpressured: waiting.length > 0 && inFlight >= ready.length * slots,
      triggers: [
        { functionName: 'f', type: 'queueTrigger', waiting: waiting.length, oldestAgeMs, arrivalsPerSecond: arrivals },
      ],
    };
  }
}

function linked({ process, state, versionKey }: ConnectedWorker): LinkedWorker {
  return { workerId: process.instanceId, state, versionKey };
}
