import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
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
  #spawnFailure: Error | undefined;

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
    const read: Promise<unknown>[] = [];
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = this.process[name];
      if (!stream) continue;
      const lines = createInterface({ input: stream }).on('line', (line) => {
        this.#lines[name].push(line);
        this.#wake();
      });
      read.push(new Promise((resolve) => lines.once('close', resolve)));
    }
    this.exited = new Promise((resolve, reject) => {
      this.process.on('error', (error) => {
        // also told when a message or signal could not be sent, which is no end of the process
        if (this.process.pid !== undefined) return;
        this.#spawnFailure = error;
        this.#wake();
        reject(error);
      });
      this.process.once('exit', (code, signal) => {
        // Exited, and all it printed has been read. Not its `close` event: that never comes after `disconnect()`.
        void Promise.all(read).then(() => {
          this.#exit = { code, signal };
          this.#wake();
          resolve({ code, signal });
        });
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
    if (this.process.pid === undefined) return;
    try {
      process.kill(-this.process.pid, 'SIGKILL'); // also after its own end: others of its group may have stayed
    } catch {
      // it was gone already
    }
    await this.exited;
  }

  /** The first line, past or future, that `match` finds; fails when the process ends or time runs out without it. */
  line(match: RegExp, withinMs = 120_000): Promise<string> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const fail = (why: string, cause?: Error): void => {
        finish();
        reject(new Error(`${why} without a line like ${String(match)}; it printed:\n${this.output}`, { cause }));
      };
      const look = (): void => {
        const found = [...this.stdout, ...this.stderr].find((line) => line.search(match) >= 0);
        if (found !== undefined) {
          finish();
          resolve(found);
        } else if (this.#exit) fail(`process ended with ${JSON.stringify(this.#exit)}`);
        else if (this.#spawnFailure) fail('process did not start', this.#spawnFailure);
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
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return !isZombie(pid);
}

/** A zombie still answers signals. Linux tells it apart; elsewhere the parent of an orphan is quick to reap. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // "pid (name) state …": the name may hold spaces and brackets of its own
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return true; // it went between the two questions
  }
}
