import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock } from '@drover/service-kit';
import type { WorkerCommand } from '../commands/worker-command.js';
import { LineReader, readPrintedLine, type PrintedLine } from './printed-lines.js';

interface WorkerProcessOptions {
  readonly command: WorkerCommand;
  readonly args: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Called when the system has started the process, not if it could not. */
  readonly onStarted?: () => void;
  readonly onLine: (line: PrintedLine) => void;
  /** Called once, when no process of its group runs any more. */
  readonly onEnd: (end: ProcessEnd) => void;
}

export interface ProcessEnd {
  /** `restart`: it exited with the code that requests a restart. */
  readonly kind: 'clean' | 'restart' | 'crashed';
  readonly text: string;
}

/** Last lines of standard error that are reported with a crash. */
const lastLines = 10;
const exitForRestart = 200;
/** A process that left the group may hold the pipes for ever: what it prints is not waited for. */
const pipesWithinMs = 1_000;

/** The process of one instance. It leads its own process group, so that its children end with it. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #onEnd: (end: ProcessEnd) => void;
  readonly #stderr: string[] = [];
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  #isOver = false;
  #cancelKill: (() => void) | undefined;
  #cancelPipes: (() => void) | undefined;
  #resolveEnded: () => void = () => undefined;

  constructor({ command, args, directory, environment, clock, onStarted, onLine, onEnd }: WorkerProcessOptions) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    this.#child = spawn(command.executable, [...command.args, ...args], {
      cwd: directory,
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#read('stdout', onLine);
    this.#read('stderr', onLine);
    if (onStarted) this.#child.once('spawn', onStarted);
    this.#child.once('error', (error) =>
      this.#over({ kind: 'crashed', text: `could not be started: ${error.message}` }),
    );
    this.#child.once('exit', (code, signal) => this.#exited(code, signal));
    this.#child.once('close', (code, signal) => this.#over(this.#endOf(code, signal)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends SIGTERM, unless the process ends by itself, and SIGKILL after the grace period. */
  end(graceMs: number, { endsByItself = false }: { readonly endsByItself?: boolean } = {}): void {
    const { pid } = this;
    if (this.#isOver || pid === undefined) return;
    // Most workers die from SIGTERM at once, without their shutdown handlers.
    if (graceMs > 0 && !endsByItself) signalGroup(pid, 'SIGTERM');
    this.#cancelKill?.();
    if (graceMs <= 0) return signalGroup(pid, 'SIGKILL');
    this.#cancelKill = this.#clock.after(graceMs, () => signalGroup(pid, 'SIGKILL'));
  }

  #read(name: 'stdout' | 'stderr', onLine: (line: PrintedLine) => void): void {
    const lines = new LineReader((line) => {
      if (name === 'stderr') this.#stderr.push(line);
      if (this.#stderr.length > lastLines) this.#stderr.shift();
      const printed = readPrintedLine(line, name);
      if (printed) onLine(printed);
    });
    this.#child[name]
      ?.setEncoding('utf8')
      .on('data', (text: string) => lines.push(text))
      .on('end', () => lines.end());
  }

  /** Its children go with it: they would hold its pipes, and run on without an owner. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.pid !== undefined) signalGroup(this.pid, 'SIGKILL');
    if (this.#isOver) return;
    this.#cancelPipes = this.#clock.after(pipesWithinMs, () => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
      this.#over(this.#endOf(code, signal));
    });
  }

  #over(end: ProcessEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelKill?.();
    this.#cancelPipes?.();
    this.#resolveEnded();
    this.#onEnd(end);
  }

  #endOf(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    if (code === 0) return { kind: 'clean', text: 'exit code 0' };
    if (code === exitForRestart) return { kind: 'restart', text: 'requested a restart' };
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    const output = this.#stderr.join('\n').trim();
    return { kind: 'crashed', text: output ? `${how}: ${output}` : how };
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // the group has ended
  }
}
