import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { defineStates, CodedError } from '@drover/contracts';
import {
  BackOff,
  isProcessReport,
  type Clock,
  type Leash,
  type Lifecycle,
  type Observe,
  type Randomness,
} from '@drover/service-kit';
import { roleFailed } from './errors.js';
import type { UpObservation } from './observations.js';

/**
 * - waiting: no process; the next one is due after the back-off
 * - starting: the process runs and has not yet said that it is ready
 * - ready: it serves
 * - stopping: it was asked to end
 * - stopped: it has ended for good
 */
export const supervisedProcessStates = defineStates('supervised process', {
  waiting: ['starting', 'stopping', 'stopped'],
  starting: ['ready', 'waiting', 'stopping', 'stopped'],
  ready: ['waiting', 'stopping'],
  stopping: ['stopped'],
  stopped: [],
});

export type Announcement = Readonly<Record<string, string>>;

export interface SupervisedProcessOptions {
  readonly role: string;
  /** The module that a fresh Node.js runs. */
  readonly module: string;
  /** Asked before every start: what an earlier start chose (a port) can be kept. */
  readonly environment: (earlier: Announcement | undefined) => NodeJS.ProcessEnv;
  /** Each line it prints. */
  readonly onLine: (line: string) => void;
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<UpObservation>;
}

const restartBackOff = { firstMs: 100, maxMs: 30_000, factor: 2 };
/** Whoever lived this long did not die of its start: the next back-off is short again. */
const healthyAfterMs = 10_000;
const graceMs = 35_000;

/**
 * One child process that has to be there. The first start must succeed, else the platform does not come up; after that
 * it is started again whenever it ends, with growing pauses while it keeps failing. It leads its own process group, so
 * that Ctrl-C reaches us alone and we end things in order; the leash ends it should we be killed.
 */
export class SupervisedProcess implements Lifecycle {
  readonly name: string;
  readonly #options: SupervisedProcessOptions;
  readonly #state;
  readonly #backOff: BackOff;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #announcement: Announcement | undefined;
  #cancelRestart: () => void = () => undefined;

  constructor(options: SupervisedProcessOptions) {
    this.name = options.role;
    this.#options = options;
    this.#backOff = new BackOff(restartBackOff, options);
    this.#state = supervisedProcessStates.start('waiting');
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** What it said about itself when it became ready. */
  get announcement(): Announcement {
    return this.#announcement ?? {};
  }

  async start(signal: AbortSignal): Promise<void> {
    const giveUp = (): void => void this.#child?.kill('SIGTERM');
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await this.#launch();
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Asks it to end, and waits for its own drain; at the deadline it is killed. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#cancelRestart();
    if (this.#state.is('stopping', 'stopped')) return;
    this.#state.move('stopping');
    const kill = (): void => this.#kill();
    deadline.addEventListener('abort', kill, { once: true });
    this.#child?.kill('SIGTERM');
    if (deadline.aborted) kill();
    await this.#exited;
    deadline.removeEventListener('abort', kill);
  }

  async stop(): Promise<void> {
    this.#cancelRestart();
    if (this.#state.is('stopped')) return;
    if (!this.#state.is('stopping')) this.#state.move('stopping');
    this.#kill();
    await this.#exited;
    if (this.#state.is('stopping')) this.#state.move('stopped');
  }

  /** Resolves when it is ready, rejects with its own reason when it ends before that. */
  #launch(): Promise<void> {
    const { module, environment, onLine, leash, role } = this.#options;
    this.#state.move('starting');
    const startedMs = this.#options.clock.monotonicMs();
    const child = spawn(process.execPath, ['--enable-source-maps', module], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: environment(this.#announcement),
    });
    this.#child = child;
    const letGo = child.pid === undefined ? () => undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs });
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', onLine);
    }
    return new Promise((resolve, reject) => {
      let failure: CodedError | undefined;
      child.on('message', (message) => {
        if (!isProcessReport(message)) return;
        if (message.type === 'failed') failure = failureOf(role, message.code, message.message);
        else {
          this.#announcement = message.announcement;
          if (this.#state.is('starting')) this.#state.move('ready');
          this.#options.observe({
            kind: 'up.ready',
            role,
            pid: child.pid ?? 0,
            durationMs: this.#options.clock.monotonicMs() - startedMs,
          });
          resolve();
        }
      });
      child.once('error', (error) => reject(roleFailed({ role, reason: error.message }, error)));
      this.#exited = new Promise((gone) => {
        child.once('close', (code, signal) => {
          letGo();
          const how = signal ?? `exit code ${code}`;
          reject(failure ?? roleFailed({ role, reason: `it ended with ${how}` }));
          this.#ended(how, failure, startedMs);
          gone();
        });
      });
    });
  }

  #ended(how: string, failure: CodedError | undefined, startedMs: number): void {
    this.#child = undefined;
    if (this.#state.is('stopping', 'stopped')) return;
    this.#state.move('waiting');
    if (this.#announcement === undefined) return; // the first start failed: whoever asked for it knows
    const { role, clock, observe } = this.#options;
    if (clock.monotonicMs() - startedMs >= healthyAfterMs) this.#backOff.reset();
    const delayMs = this.#backOff.nextMs();
    observe({ kind: 'up.lost', role, reason: failure?.message ?? how, delayMs });
    this.#cancelRestart = clock.after(delayMs, () => {
      this.#launch().catch(() => undefined); // its end has been seen, and has brought the next start
    });
  }

  #kill(): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      this.#child?.kill('SIGKILL');
    }
  }
}

/** Keeps the child's own code and sentence: whoever reads it should not have to look further. */
function failureOf(role: string, code: string, message: string): CodedError {
  return new CodedError(code, { fault: 'platform', retryable: false, status: 503 }, message, { role });
}
