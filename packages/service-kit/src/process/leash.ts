import { spawn, type ChildProcess } from 'node:child_process';

export interface LeashOptions {
  /**
   * Signal that requests the shutdown: SIGINT for PostgreSQL (fast shutdown), SIGTERM for Drover's own processes. SIGKILL ends a
   * process without waiting for it, so that many of them end at once.
   */
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL';
  /** Time until the whole process group receives SIGKILL. */
  readonly graceMs: number;
}

const tickMs = 100;
/** Limit on waiting for a killed process: the next one in line must find it gone. */
const killedMs = 1_000;

// Gets the processes to hold as arguments PID:SIGNAL:TICKS, then reads "hold PID:SIGNAL:TICKS" and "drop PID". End of input
// means that the parent is dead: the shell ends the processes that it still holds in reverse order, so that a server outlives
// its clients. POSIX sh, because minimal images have nothing else.
const script = `
trap '' HUP INT TERM
send() { kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "$2" 2>/dev/null; }
await() { left=$2; while send 0 "$1" && [ "$left" -gt 0 ]; do sleep ${tickMs / 1000}; left=$((left - 1)); done; }
held=
for entry in "$@"; do held="$entry $held"; done
while read -r word subject; do
  case $word in
    hold) held="$subject $held" ;;
    drop) rest=; for entry in $held; do [ "\${entry%%:*}" = "$subject" ] || rest="$rest $entry"; done; held=$rest ;;
  esac
done
for entry in $held; do
  pid=\${entry%%:*}; signal=\${entry#*:}; ticks=\${signal#*:}; signal=\${signal%%:*}
  send "$signal" "$pid" && [ "$signal" != KILL ] || continue
  await "$pid" "$ticks"
  send KILL "$pid" && await "$pid" ${killedMs / tickMs}
done
`;

/** Delay before a shell is replaced, so that a shell that cannot run does not become a fork loop. */
const respawnMs = 100;

/**
 * Ends child processes if this process dies, also by SIGKILL. A shell of a few hundred kilobytes reads from a pipe that only
 * this process holds; when this process dies, the pipe closes and the shell ends the processes that it holds.
 * Children should lead their own process group (spawned `detached`), so that their children are ended as well.
 */
export class Leash {
  readonly #held = new Map<number, LeashOptions>();
  #shell: ChildProcess | undefined;
  #respawn: NodeJS.Timeout | undefined;

  /** Pid of the shell; undefined until the first `hold`. */
  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  /** Ends `pid` if this process dies. Call the returned function to release it, also after `pid` has exited. */
  hold(pid: number, options: LeashOptions): () => void {
    const entry = { ...options };
    this.#held.set(pid, entry);
    if (this.#shell) this.#send(`hold ${entryOf(pid, entry)}\n`);
    else this.#spawnShell();
    return () => {
      // The system may have reused the pid for another process, which may be held as well.
      if (this.#held.get(pid) !== entry) return;
      this.#held.delete(pid);
      this.#send(`drop ${pid}\n`);
    };
  }

  /** Releases all processes and ends the shell. */
  async stop(): Promise<void> {
    const shell = this.#shell;
    for (const pid of this.#held.keys()) this.#send(`drop ${pid}\n`);
    this.#held.clear();
    clearTimeout(this.#respawn);
    this.#shell = undefined;
    if (!shell) return;
    shell.ref(); // without this, Node may exit before the shell does
    const gone = new Promise((resolve) => shell.once('close', resolve));
    shell.stdin?.end();
    if (shell.exitCode === null && shell.signalCode === null) await gone;
  }

  #spawnShell(): void {
    clearTimeout(this.#respawn);
    // As arguments, so that a shell holds them from its first moment: a line sent to it could be lost with this process.
    const held = [...this.#held].map(([pid, options]) => entryOf(pid, options));
    const shell = spawn('/bin/sh', ['-c', script, 'drover-leash', ...held], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    });
    this.#shell = shell;
    shell.unref();
    // A write to a shell that was just killed; its exit event follows and replaces it.
    shell.stdin?.on('error', () => undefined);
    const replace = (): void => {
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      if (this.#held.size > 0) this.#respawn = setTimeout(() => this.#spawnShell(), respawnMs).unref();
    };
    shell.once('exit', replace);
    shell.once('error', replace); // spawn failed, perhaps for lack of processes: try again
  }

  #send(line: string): void {
    this.#shell?.stdin?.write(line);
  }
}

function entryOf(pid: number, { signal, graceMs }: LeashOptions): string {
  return `${pid}:${signal.replace('SIG', '')}:${Math.max(1, Math.ceil(graceMs / tickMs))}`;
}
