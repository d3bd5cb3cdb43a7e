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

/** How a worker's process ended. */
export interface ProcessEnd {
  /** `restart`: it asked to be started again. */
  readonly kind: 'clean' | 'restart' | 'crashed';
  readonly text: string;
}

/** Of the end of standard error, this many lines explain a crash. */
const lastLines = 10;
const exitForRestart = 200;

/** One process of a function worker, in a group of its own so that its children end with it. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #stderr: string[] = [];
  /** Resolves when it is gone. */
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
    let tell: () => void = () => undefined;
    this.ended = new Promise((resolve) => (tell = resolve));
    const over = (end: ProcessEnd): void => {
      if (this.#isOver) return;
      this.#isOver = true;
      tell();
      this.#cancelKill?.();
      if (this.pid !== undefined) signalGroup(this.pid, 'SIGKILL'); // whoever it started goes with it
      onEnd(end);
    };
    this.#child.once('error', (error) => over({ kind: 'crashed', text: `it could not be started: ${error.message}` }));
    this.#child.once('close', (code, signal) => over(this.#endOf(code, signal)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Asks it to end, unless it was told to in the protocol's own way, and makes it after the grace. */
  end(graceMs: number, { endsByItself = false }: { readonly endsByItself?: boolean } = {}): void {
    if (this.#isOver || this.pid === undefined) return;
    const { pid } = this;
    // For most workers a signal is sudden death: what they do at their end would be left out.
    if (graceMs > 0 && !endsByItself) signalGroup(pid, 'SIGTERM');
    this.#cancelKill?.();
    this.#cancelKill = this.#clock.after(graceMs, () => signalGroup(pid, 'SIGKILL'));
  }

  #endOf(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    if (code === 0) return { kind: 'clean', text: 'exit code 0' };
    if (code === exitForRestart) return { kind: 'restart', text: 'it asked to be started again' };
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    const said = this.#stderr.join('\n').trim();
    return { kind: 'crashed', text: said ? `${how}: ${said}` : how };
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // nobody is left
  }
}
