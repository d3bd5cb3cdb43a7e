import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock } from '@drover/service-kit';
import { LineReader, readPrintedLine, type PrintedLine } from './worker-output.js';
import type { WorkerCommand } from './worker-command.js';

interface WorkerProcessOptions {
  readonly command: WorkerCommand;
  readonly args: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly onLine: (line: PrintedLine) => void;
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

/** The process of one function worker. It leads its own process group, so that its children end with it. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #stderr: string[] = [];
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  #isOver = false;
  #cancelKill: (() => void) | undefined;

  constructor({ command, args, directory, environment, clock, onLine, onEnd }: WorkerProcessOptions) {
    this.#clock = clock;
    this.#child = spawn(command.executable, [...command.args, ...args], {
      cwd: directory,
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const read = (stream: 'stdout' | 'stderr'): void => {
      const lines = new LineReader((line) => {
        if (stream === 'stderr') this.#stderr.push(line);
        if (this.#stderr.length > lastLines) this.#stderr.shift();
        const printed = readPrintedLine(line, stream);
        if (printed) onLine(printed);
      });
      this.#child[stream]
        ?.setEncoding('utf8')
        .on('data', (text: string) => lines.push(text))
        .on('end', () => lines.end());
    };
    read('stdout');
    read('stderr');
    let resolveEnded: () => void = () => undefined;
    this.ended = new Promise((resolve) => (resolveEnded = resolve));
    const over = (end: ProcessEnd): void => {
      if (this.#isOver) return;
      this.#isOver = true;
      resolveEnded();
      this.#cancelKill?.();
      if (this.pid !== undefined) signalGroup(this.pid, 'SIGKILL'); // its children
      onEnd(end);
    };
    this.#child.once('error', (error) => over({ kind: 'crashed', text: `could not be started: ${error.message}` }));
    this.#child.once('close', (code, signal) => over(this.#endOf(code, signal)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends SIGTERM, unless the worker ends by itself, and SIGKILL after the grace period. */
  end(graceMs: number, { endsByItself = false }: { readonly endsByItself?: boolean } = {}): void {
    if (this.#isOver || this.pid === undefined) return;
    const { pid } = this;
    // Most workers die from SIGTERM at once, without their shutdown handlers.
    if (graceMs > 0 && !endsByItself) signalGroup(pid, 'SIGTERM');
    this.#cancelKill?.();
    this.#cancelKill = this.#clock.after(graceMs, () => signalGroup(pid, 'SIGKILL'));
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
