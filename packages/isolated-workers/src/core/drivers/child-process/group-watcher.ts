import type { ChildProcess } from 'node:child_process';
import { UnsupportedOptionError } from '../../../types/errors.js';

/** A watcher that lived shorter than this is replaced after this delay, so that a broken one does not spin. */
const restartMs = 200;

// Both programs read one event per line: `~` a start begins, `+ pid` it has started, `.` it failed, `- pid` it has ended. The end of
// the input means that the host has died. A host that dies between `~` and `+` leaves a worker whose pid was never sent: it
// is found by the token in its environment, repeatedly, because it may not have loaded its program yet.
const shellProgram = `
trap '' HUP INT QUIT TERM
groups=' '
starting=
while read -r event pid; do
  case $event in
    '~') starting=1 ;;
    '.') starting= ;;
    '+') starting= groups="$groups$pid " ;;
    '-') case $groups in *" $pid "*) groups="\${groups%% $pid *} \${groups#* $pid }" ;; esac ;;
  esac
done
for pid in $groups; do kill -s KILL -- "-$pid"; done
[ "$starting" ] || exit 0
for turn in 1 2 3 4 5 6 7 8 9 10; do
  for file in $(grep -slF "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -s KILL -- "-\${pid%/environ}"
  done
  sleep 0.1
done
`;

const nodeProgram = `
const groups = new Set();
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const [event, pid] = line.split(' ');
  if (event === '+') groups.add(Number(pid));
  if (event === '-') groups.delete(Number(pid));
}).on('close', () => {
  for (const pid of groups) try { process.kill(-pid, 'SIGKILL'); } catch {}
  process.exit();
});
`;

/**
 * Kills the process groups of all workers of this process when it dies, whatever ends it: a small process that reads a pipe of
 * this one does it. It runs while there are workers, so a worker is guarded from its first instruction and needs no thread of
 * its own. The program is a shell script, which starts in a millisecond; where there is no shell, it runs in Node.
 */
export class GroupWatcher {
  /** Has to be part of the environment of each worker. */
  readonly token = `isolated-${process.pid}-${Math.random().toString(36).slice(2)}`;
  readonly #groups = new Set<number>();
  readonly #shell: string;
  #watcher: ChildProcess | undefined;
  #hasShell = true;
  #restart: NodeJS.Timeout | undefined;

  constructor(shell = '/bin/sh') {
    this.#shell = shell;
  }

  /** Calls `start`, which spawns the leader of a process group. Throws when that group could not be watched. */
  start(start: () => ChildProcess): ChildProcess {
    this.#tell('~');
    let pid: number | undefined;
    try {
      const child = start();
      pid = child.pid;
      return child;
    } finally {
      if (pid === undefined) this.#tell('.');
      else {
        this.#groups.add(pid);
        this.#tell(`+ ${pid}`);
      }
    }
  }

  /** Forgets a group that has ended. */
  remove(pid: number): void {
    if (this.#groups.delete(pid) && this.#watcher) this.#tell(`- ${pid}`);
  }

  /** Ends the watcher if there is no group. Resolves when it has ended. */
  async release(): Promise<void> {
    const watcher = this.#watcher;
    if (!watcher || this.#groups.size > 0) return;
    clearTimeout(this.#restart);
    this.#watcher = undefined;
    watcher.ref();
    await new Promise<void>((resolve) => {
      watcher.once('exit', () => resolve());
      watcher.stdin?.end();
    });
  }

  #tell(line: string): void {
    this.#watcher ??= this.#open();
    this.#watcher.stdin?.write(`${line}\n`); // written before it returns, because the pipe is never full
  }

  #open(): ChildProcess {
    const failure = new Error('The process that ends orphaned workers could not be started');
    const watcher =
      (this.#hasShell ? this.#spawn(this.#shell, ['-c', shellProgram, 'sh', this.token], failure) : undefined) ??
      this.#spawn(process.execPath, ['-e', nodeProgram], failure);
    if (!watcher) throw failure;
    const startedMs = performance.now();
    watcher.once('exit', (code) => {
      if (this.#watcher !== watcher) return;
      this.#watcher = undefined;
      if (code !== null) this.#hasShell = false; // it does not end by itself while its input is open
      this.#reopen(performance.now() - startedMs < restartMs ? restartMs : 0);
    });
    for (const pid of this.#groups) watcher.stdin?.write(`+ ${pid}\n`);
    return watcher;
  }

  /** Replaces a watcher that was killed. */
  #reopen(delayMs: number): void {
    clearTimeout(this.#restart);
    this.#restart = setTimeout(() => {
      if (this.#watcher || this.#groups.size === 0) return;
      try {
        this.#watcher = this.#open();
      } catch {
        this.#reopen(restartMs);
      }
    }, delayMs);
    this.#restart.unref();
  }

  /** Returns undefined when there is no such program, or no room for another process. `failure` gets the reason. */
  #spawn(program: string, argv: readonly string[], failure: Error): ChildProcess | undefined {
    const { PATH } = process.env;
    const { spawn } = process.getBuiltinModule('node:child_process');
    const watcher = spawn(program, argv, {
      cwd: '/',
      env: { PATH, NODE_V8_COVERAGE: undefined },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true, // not in the group that a terminal or a supervisor interrupts
    });
    // Node reports it in the next tick, which is before the end of the worker that was not started is reported.
    watcher.once('error', (cause: NodeJS.ErrnoException) => Object.assign(failure, { cause, code: cause.code }));
    if (watcher.pid === undefined) return undefined;
    watcher.unref();
    watcher.stdin?.on('error', () => undefined); // its end is reported as well
    (watcher.stdin as { unref?: () => void } | null)?.unref?.(); // a socket, which the type does not say
    return watcher;
  }
}

/** Throws where processes have no groups. */
export function requireProcessGroups(platform: NodeJS.Platform): void {
  if (platform === 'win32')
    throw new UnsupportedOptionError(
      'The driver child-process runs on Linux and macOS, not on Windows. Use the driver workerThreads, or run the host in WSL.',
    );
}
