import { spawn, type ChildProcess } from 'node:child_process';
import { defineStates, CodedError, isCodedError } from '@drover/contracts';
import type { Lifecycle } from '../lifecycle/lifecycle.js';
import type { Observe } from '../observations/observation.js';
import { BackOff } from '../time/back-off.js';
import { sleep, type Clock } from '../time/clock.js';
import type { Randomness } from '../time/randomness.js';
import type { Leash } from './leash.js';
import { isProcessReport } from './parent-link.js';
import type { SupervisedProcessObservation } from './supervised-process-observations.js';

/**
 * - waiting: no process runs; the next one starts after the back-off
 * - starting: the process runs and has not reported that it is ready
 * - ready: the process has reported that it is ready
 * - stopping: the process was asked to exit
 * - stopped: the process has exited and is not restarted
 */
export const supervisedProcessStates = defineStates('supervised process', {
  waiting: ['starting', 'stopping', 'stopped'],
  starting: ['ready', 'waiting', 'stopping', 'stopped'],
  ready: ['waiting', 'stopping'],
  stopping: ['stopped'],
  stopped: [],
});

interface ProcessFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable?: boolean;
}

export type ProcessAnnouncement = Readonly<Record<string, string>>;

interface SupervisedProcessOptions {
  readonly role: string;
  /** The module that a new Node.js process runs. */
  readonly module: string;
  /** Called before every start with the announcement of the previous process, so that its ports can be reused. */
  readonly environment: (previous: ProcessAnnouncement | undefined) => NodeJS.ProcessEnv;
  /** Called for each line that the process prints. */
  readonly onLine: (line: string) => void;
  /** Takes part in passing connections while a process is ready; no connections are passed without it. */
  readonly relay?: { attach(role: string, child: ChildProcess): void; detach(role: string): void } | undefined;
  /** Called with each new process, before its first message. The function that it returns is called when the process has exited. */
  readonly onLaunch?: ((child: ChildProcess) => () => void) | undefined;
  /** Called for each message of the process that is not a report of its state. */
  readonly onMessage?: ((message: unknown) => void) | undefined;
  /** Creates the error of a process that does not start. */
  readonly failed: (reason: string, cause?: unknown) => CodedError;
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<SupervisedProcessObservation>;
}

const restartBackOff = { firstMs: 100, maxMs: 30_000, factor: 2 };
/** A process that ran this long started well: its exit counts as a first failure again. */
const healthyAfterMs = 10_000;
const graceMs = 35_000;
/** A process that was killed, or whose database was away, is started this often before the first start fails. */
const firstStartAttempts = 6;

/**
 * Keeps one child process running: it is restarted whenever it exits, with growing delays while it keeps failing. Until it was
 * ready once, a failure that a restart cannot repair rejects `start`, and so does the last of a few attempts. The process leads its
 * own process group, so that Ctrl-C only reaches `drover up`, which stops its children in order; the leash ends the child if
 * `drover up` is killed.
 */
export class SupervisedProcess implements Lifecycle {
  readonly name: string;
  readonly #options: SupervisedProcessOptions;
  readonly #state;
  readonly #backOff: BackOff;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #announcement: ProcessAnnouncement | undefined;
  #cancelRestart: () => void = () => undefined;
  /** Aborted when the process is stopped. */
  readonly #ending = new AbortController();

  constructor(options: SupervisedProcessOptions) {
    this.name = options.role;
    this.#options = options;
    this.#backOff = new BackOff(restartBackOff, options);
    this.#state = supervisedProcessStates.start('waiting');
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when the current process has exited; at once if none runs. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /** The announcement of the latest ready process; empty before the first. */
  get announcement(): ProcessAnnouncement {
    return this.#announcement ?? {};
  }

  async start(signal: AbortSignal): Promise<void> {
    const abort = (): void => void this.#child?.kill('SIGTERM');
    signal.addEventListener('abort', abort, { once: true });
    try {
      await this.#firstStart(AbortSignal.any([signal, this.#ending.signal]));
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Sends SIGTERM and waits until the process has drained and exited; kills it at the deadline. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#giveUp();
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
    this.#giveUp();
    if (this.#state.is('stopped')) return;
    if (!this.#state.is('stopping')) this.#state.move('stopping');
    this.#kill();
    await this.#exited;
    if (this.#state.is('stopping')) this.#state.move('stopped');
  }

  #giveUp(): void {
    this.#ending.abort();
    this.#cancelRestart();
  }

  async #firstStart(signal: AbortSignal): Promise<void> {
    const { role, clock, observe } = this.#options;
    for (;;) {
      try {
        return await this.#launch();
      } catch (error) {
        const isHopeless = !isCodedError(error) || !error.retryable;
        if (isHopeless || signal.aborted || this.#backOff.failures + 1 >= firstStartAttempts) throw error;
        const delayMs = this.#backOff.nextMs();
        const { reason } = error.details;
        observe({ kind: 'up.lost', role, reason: typeof reason === 'string' ? reason : error.message, delayMs });
        await sleep(clock, delayMs, signal).catch(() => Promise.reject(error));
      }
    }
  }

  /** Resolves when the process is ready; rejects with the reason it reported if it exits before. */
  #launch(): Promise<void> {
    const { module, environment, onLine, leash, role, failed } = this.#options;
    this.#state.move('starting');
    const startedMs = this.#options.clock.monotonicMs();
    const child = spawn(process.execPath, ['--enable-source-maps', module], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: environment(this.#announcement),
    });
    this.#child = child;
    const afterExit = this.#options.onLaunch?.(child);
    const release = child.pid === undefined ? () => undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs });
    const { createInterface } = process.getBuiltinModule('node:readline'); // most processes supervise none, and start without it
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', onLine);
    }
    return new Promise((resolve, reject) => {
      let failure: CodedError | undefined;
      child.on('message', (message) => {
        if (!isProcessReport(message)) this.#options.onMessage?.(message);
        else if (message.type === 'failed') failure = failureOf(role, message);
        else {
          this.#announcement = message.announcement;
          if (this.#state.is('starting')) this.#state.move('ready');
          this.#options.relay?.attach(role, child);
          this.#options.observe({
            kind: 'up.ready',
            role,
            pid: child.pid ?? 0,
            durationMs: this.#options.clock.monotonicMs() - startedMs,
          });
          resolve();
        }
      });
      child.once('error', (error) => reject(failed(error.message, error)));
      this.#exited = new Promise((resolveExited) => {
        child.once('close', (code, signal) => {
          release();
          afterExit?.();
          const how = signal ?? `exit code ${code}`;
          reject(failure ?? failed(`it exited with ${how}`));
          this.#onExit(how, failure, startedMs);
          resolveExited();
        });
      });
    });
  }

  #onExit(how: string, failure: CodedError | undefined, startedMs: number): void {
    this.#child = undefined;
    this.#options.relay?.detach(this.#options.role);
    if (this.#state.is('stopping', 'stopped')) return;
    this.#state.move('waiting');
    if (this.#announcement === undefined) return; // `#firstStart` decides
    const { role, clock, observe } = this.#options;
    if (clock.monotonicMs() - startedMs >= healthyAfterMs) this.#backOff.reset();
    const delayMs = this.#backOff.nextMs();
    observe({ kind: 'up.lost', role, reason: failure?.message ?? how, delayMs });
    this.#cancelRestart = clock.after(delayMs, () => {
      this.#launch().catch(() => undefined); // its exit was handled and has scheduled the next start
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

/** Keeps code and message of the child, which name the actual problem. */
function failureOf(role: string, { code, message, retryable = false }: ProcessFailure): CodedError {
  return new CodedError(code, { fault: 'platform', retryable, status: 503 }, message, { role });
}
