import {
  hostArguments,
  isDebugged,
  programOptionsOf,
  withFreeDebugPort,
  WorkerProcess,
  type ProcessEnd,
  type WorkerCommand,
} from '@drover/instance-provider';
import type { Clock, Leash, Observe, Randomness } from '@drover/service-kit';
import { versionKey, type ApplicationVersion } from '../deployments/application-version.js';
import type { Admission } from '../rpc/admission.js';
import type { WorkerProcessObservation } from './process-observations.js';
import { StartBudget } from './start-budget.js';
import { functionWorkerEnvironment } from './worker-command.js';

export interface WorkerFleetOptions {
  readonly command: WorkerCommand;
  /** Ends the processes if the runtime is killed. */
  readonly leash: Leash;
  /** Number of workers per version. */
  readonly count: number;
  readonly admission: Admission;
  /** The address that workers connect to. */
  readonly address: () => { readonly host: string; readonly port: number };
  readonly maxMessageBytes: number;
  readonly graceMs: number;
  /** A process that has not connected by then is ended, unless it is started with a debugger. */
  readonly connectWithinMs: number;
  /** Whether a worker was sent WorkerTerminate and ends without a signal. */
  readonly endsByItself?: (workerId: string) => boolean;
  /** False while the runtime stops or is short of memory. */
  readonly mayStart: () => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<WorkerProcessObservation>;
}

/** - starting: not ready yet; ready: it serves; ending: its stream is lost, or it was told to end */
interface FleetProcess {
  readonly child: WorkerProcess;
  readonly startedMs: number;
  readonly isIsolated: boolean;
  phase: 'starting' | 'ready' | 'ending';
  wasReady: boolean;
}

/** Processes of one version that die within the period before the version counts as failing: this many for each worker. */
const errorsEachProcess = 3;
/** A process that ran this long did not fail at its start. */
const healthyAfterMs = 60_000;
/** Assumed until the first worker was ready. */
const usualStartMs = 1_000;

/**
 * The worker processes of one version. Keeps their number: a lost one is replaced, at once the first time and with a growing
 * delay after that. One more process, the isolated one, runs on demand: invocations that may have ended a worker run there,
 * alone, so that they can end no other invocation.
 */
export class WorkerFleet {
  readonly version: ApplicationVersion;
  readonly #options: WorkerFleetOptions;
  readonly #processes = new Map<string, FleetProcess>();
  readonly #command: WorkerCommand;
  readonly #isDebugged: boolean;
  readonly #budget = new StartBudget();
  readonly #isolatedBudget = new StartBudget();
  /** Delayed starts: the function that cancels each, and its due time. */
  readonly #delayed = new Map<() => void, number>();
  #cancelIsolated: (() => void) | undefined;
  #isIsolating = false;
  #isFailing = false;
  #isStopped = false;
  #startMs = usualStartMs;
  #onFailing: (text: string) => void = () => undefined;

  constructor(version: ApplicationVersion, options: WorkerFleetOptions) {
    this.version = version;
    this.#options = options;
    const { command } = options;
    this.#command = { ...command, args: [...programOptionsOf(version.environment), ...command.args] };
    this.#isDebugged = isDebugged(this.#command.args);
  }

  /** Whether the process of a worker runs and counts, as the isolated one does not. */
  has(workerId: string): boolean {
    return this.#processes.get(workerId)?.isIsolated === false;
  }

  /**
   * Starts what is missing, also after `cease`. Earlier failures are forgotten. Calls `onFailing` when processes die again and
   * again while no worker is ready.
   */
  run(onFailing: (text: string) => void): void {
    this.#onFailing = onFailing;
    this.#isStopped = false;
    this.#isFailing = false;
    this.#budget.reset();
    this.fill();
  }

  /** Starts no more processes. Running ones are ended by their drain. */
  cease(): void {
    this.#isStopped = true;
    this.#isIsolating = false;
  }

  fill(): void {
    while (this.#size() + this.#delayed.size < this.#options.count) if (!this.start()) return;
  }

  /** Starts a process, even beyond the number: the one that it replaces may still run. Returns whether it started. */
  start({ isIsolated = false } = {}): boolean {
    const { randomness, admission, clock, observe, leash, mayStart, address, maxMessageBytes } = this.#options;
    if (this.#isStopped || !mayStart()) return false;
    const workerId = randomness.uuid();
    const startedMs = clock.monotonicMs();
    const requestId = randomness.uuid();
    const traits = { isIsolated, isDebugged: this.#isDebugged, isManaged: false };
    admission.expect({
      workerId,
      requestId,
      applicationKey: versionKey(this.version),
      traits,
      announcedMs: startedMs,
    });
    const cancelDeadline = this.#limitConnect(workerId);
    const child = new WorkerProcess({
      // Two processes cannot listen on one debug port: only the first gets the configured one.
      command: this.#processes.size === 0 ? this.#command : withFreeDebugPort(this.#command),
      args: hostArguments({ ...address(), workerId, requestId, maxMessageBytes }),
      directory: this.version.directory,
      environment: functionWorkerEnvironment(this.version, this.#options.command),
      clock,
      onLine: ({ level, text }) => observe({ kind: 'process.line', workerId, level, text }),
      onEnd: (end) => {
        release();
        cancelDeadline();
        this.#ended(workerId, end);
      },
    });
    const release =
      child.pid === undefined ? () => undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 1_000 });
    this.#processes.set(workerId, { child, startedMs, isIsolated, phase: 'starting', wasReady: false });
    observe({ kind: 'process.started', workerId, pid: child.pid });
    return true;
  }

  /** Keeps an isolated process running until `endIsolation`. Returns false if none can be started now. */
  isolate(): boolean {
    if (this.#isStopped || !this.#options.mayStart()) return false;
    if (!this.#isIsolating) {
      this.#isIsolating = true;
      this.#startIsolated();
    }
    return true;
  }

  /** Starts no more isolated processes. A running one is ended by its drain. */
  endIsolation(): void {
    this.#isIsolating = false;
    this.#cancelIsolated?.();
    this.#cancelIsolated = undefined;
  }

  recordReady(workerId: string): void {
    const known = this.#processes.get(workerId);
    if (!known) return;
    known.phase = 'ready';
    known.wasReady = true;
    this.#startMs = this.#options.clock.monotonicMs() - known.startedMs;
    if (!known.isIsolated) this.#isFailing = false;
  }

  end(workerId: string, graceMs: number): void {
    const known = this.#processes.get(workerId);
    if (!known) return;
    known.phase = 'ending';
    known.child.end(graceMs, { endsByItself: true });
  }

  /** Estimates when the next worker is ready: from delayed starts, running ones, and how long the last start took. */
  readyInMs(): number {
    const nowMs = this.#options.clock.monotonicMs();
    const times = [...this.#delayed.values()].map((dueMs) => dueMs - nowMs + this.#startMs);
    for (const { phase, startedMs, isIsolated } of this.#processes.values())
      if (phase === 'starting' && !isIsolated) times.push(startedMs + this.#startMs - nowMs);
    // A lost process that has not ended yet is replaced after the next delay.
    if (times.length === 0) times.push(this.#budget.delayMs(nowMs) + this.#startMs);
    return Math.max(0, Math.min(...times));
  }

  /** Ends all processes. Each promise resolves when one has ended. */
  endAll(): Promise<void>[] {
    this.cease();
    this.endIsolation();
    for (const cancel of this.#delayed.keys()) cancel();
    this.#delayed.clear();
    return [...this.#processes].map(([workerId, { child }]) => {
      child.end(this.#options.graceMs, { endsByItself: this.#options.endsByItself?.(workerId) ?? false });
      return child.ended;
    });
  }

  #size(): number {
    let size = 0;
    for (const { isIsolated } of this.#processes.values()) if (!isIsolated) size += 1;
    return size;
  }

  /** Ends a process that does not connect: nothing else would replace it. Returns the function that cancels the limit. */
  #limitConnect(workerId: string): () => void {
    const { clock, connectWithinMs, admission, observe } = this.#options;
    if (this.#isDebugged) return () => undefined;
    return clock.after(connectWithinMs, () => {
      if (!admission.isExpected(workerId)) return;
      observe({ kind: 'process.unconnected', workerId, timeoutMs: connectWithinMs });
      this.end(workerId, 0);
    });
  }

  #ended(workerId: string, end: ProcessEnd): void {
    const { admission, clock, observe } = this.#options;
    const known = this.#processes.get(workerId);
    this.#processes.delete(workerId);
    admission.withdraw(workerId);
    observe({ kind: 'process.ended', workerId, text: end.text });
    const nowMs = clock.monotonicMs();
    const budget = known?.isIsolated ? this.#isolatedBudget : this.#budget;
    if (known && nowMs - known.startedMs >= healthyAfterMs) budget.reset();
    if (this.#isStopped || !this.#options.mayStart()) return;
    if (known?.isIsolated) {
      budget.recordError(nowMs);
      return this.#startIsolated();
    }
    if (this.#size() + this.#delayed.size >= this.#options.count) return;
    // A worker that asks for a restart before it was ever ready would ask for ever.
    if (end.kind === 'restart' && known?.wasReady) return void this.start();
    this.#budget.recordError(nowMs);
    this.#checkFailing(nowMs, end.text);
    this.#startLater(this.#budget.delayMs(nowMs));
  }

  #checkFailing(nowMs: number, text: string): void {
    const { count, observe } = this.#options;
    const errors = this.#budget.errors(nowMs);
    const isServed = [...this.#processes.values()].some(({ phase, isIsolated }) => phase === 'ready' && !isIsolated);
    if (this.#isFailing || isServed || errors < errorsEachProcess * count) return;
    this.#isFailing = true;
    observe({ kind: 'process.given-up', application: versionKey(this.version), errors, text });
    this.#onFailing(text);
  }

  #startLater(delayMs: number): void {
    if (delayMs === 0) return void this.start();
    const { clock } = this.#options;
    const cancel = clock.after(delayMs, () => {
      this.#delayed.delete(cancel);
      this.fill();
    });
    this.#delayed.set(cancel, clock.monotonicMs() + delayMs);
  }

  #startIsolated(): void {
    if (!this.#isIsolating || this.#cancelIsolated) return;
    if ([...this.#processes.values()].some(({ isIsolated }) => isIsolated)) return;
    const { clock } = this.#options;
    this.#cancelIsolated = clock.after(this.#isolatedBudget.delayMs(clock.monotonicMs()), () => {
      this.#cancelIsolated = undefined;
      if (this.#isIsolating) this.start({ isIsolated: true });
    });
  }
}
