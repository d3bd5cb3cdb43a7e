import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real child process whose output a test can wait for. It leads its own process group. */
export class Child {
  readonly process: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly #lines = { stdout: [] as string[], stderr: [] as string[] };
  readonly #watchers = new Set<() => void>();
  #exit: Exit | undefined;

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = this.process[name];
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#lines[name].push(line);
        this.#wake();
      });
    }
    this.exited = new Promise((resolve, reject) => {
      this.process.once('error', reject);
      // close, not exit: everything it printed has been read by then
      this.process.once('close', (code, signal) => {
        this.#exit = { code, signal };
        this.#wake();
        resolve({ code, signal });
      });
    });
    this.exited.catch(() => undefined);
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the process did not start');
    return this.process.pid;
  }

  get stdout(): readonly string[] {
    return this.#lines.stdout;
  }

  get stderr(): readonly string[] {
    return this.#lines.stderr;
  }

  get output(): string {
    return [...this.#lines.stdout, ...this.#lines.stderr].join('\n');
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.process.kill(signal);
  }

  /** Ends the whole process group and waits for it. */
  async end(): Promise<void> {
    if (this.#exit) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // it was gone already
    }
    await this.exited;
  }

  /** The first line, past or future, that `match` finds; fails when the process ends or time runs out without it. */
  line(match: RegExp, withinMs = 30_000): Promise<string> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const fail = (why: string): void => {
        finish();
        reject(new Error(`${why} without a line like ${String(match)}; it printed:\n${this.output}`));
      };
      const look = (): void => {
        const found = [...this.stdout, ...this.stderr].find((line) => match.test(line));
        if (found !== undefined) {
          finish();
          resolve(found);
        } else if (this.#exit) fail(`process ended with ${JSON.stringify(this.#exit)}`);
      };
      const timer = setTimeout(() => fail(`${withinMs} ms passed`), withinMs);
      this.#watchers.add(look);
      look();
    });
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** True while a process with this pid exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
