import { spawn, type ChildProcess } from 'node:child_process';

export interface LeashOptions {
  /** How the process is asked to end; PostgreSQL reads SIGINT as "fast", everything of ours SIGTERM. */
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** How long it may take before its whole process group gets SIGKILL. */
  readonly graceMs: number;
}

const tickMs = 100;
/** SIGKILL takes a moment to work, and the next in line is to find the killed one gone. */
const killedMs = 1_000;

// Reads "hold PID SIGNAL TICKS" and "drop PID"; when the pipe ends, its owner is gone, and what is still held is ended in
// reverse order, so that a server outlives its clients. Plain POSIX sh: it must run where nothing else does.
const script = `
trap '' HUP INT TERM
send() { kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "$2" 2>/dev/null; }
await() { left=$2; while send 0 "$1" && [ "$left" -gt 0 ]; do sleep ${tickMs / 1000}; left=$((left - 1)); done; }
held=
while read -r word pid signal ticks; do
  case $word in
    hold) held="$pid:$signal:$ticks $held" ;;
    drop) rest=; for entry in $held; do [ "\${entry%%:*}" = "$pid" ] || rest="$rest $entry"; done; held=$rest ;;
  esac
done
for entry in $held; do
  pid=\${entry%%:*}; signal=\${entry#*:}; ticks=\${signal#*:}; signal=\${signal%%:*}
  send "$signal" "$pid" || continue
  await "$pid" "$ticks"
  send KILL "$pid" && await "$pid" ${killedMs / tickMs}
done
`;

/** A shell that cannot live must not turn its owner into a source of ever new ones. */
const respawnMs = 100;

/**
 * Child processes that must not outlive this one. A shell of a few hundred kilobytes waits at the end of a pipe that
 * only this process holds; when this process dies, in whatever way, the pipe breaks and the shell ends what it holds.
 * Children should lead their own process group (spawned `detached`), so that their children go too.
 */
export class Leash {
  readonly #held = new Map<number, LeashOptions>();
  #shell: ChildProcess | undefined;
  #respawn: NodeJS.Timeout | undefined;

  /** The shell's pid, once something was held. */
  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  /** Ends `pid` if this process dies. The returned function lets go of it: call it when `pid` has ended, too. */
  hold(pid: number, options: LeashOptions): () => void {
    const entry = { ...options };
    this.#held.set(pid, entry);
    if (this.#shell) this.#say(holdLine(pid, entry));
    else this.#spawnShell();
    return () => {
      // By then the system may have given the number to another process, and that one may be held as well.
      if (this.#held.get(pid) !== entry) return;
      this.#held.delete(pid);
      this.#say(`drop ${pid}\n`);
    };
  }

  /** Lets go of everything and ends the shell. */
  async stop(): Promise<void> {
    const shell = this.#shell;
    for (const pid of this.#held.keys()) this.#say(`drop ${pid}\n`);
    this.#held.clear();
    clearTimeout(this.#respawn);
    this.#shell = undefined;
    if (!shell) return;
    shell.ref(); // waited for from here on: without this, Node may end before the shell does
    const gone = new Promise((resolve) => shell.once('close', resolve));
    shell.stdin?.end();
    if (shell.exitCode === null && shell.signalCode === null) await gone;
  }

  #spawnShell(): void {
    clearTimeout(this.#respawn);
    const shell = spawn('/bin/sh', ['-c', script, 'drover-leash'], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    });
    this.#shell = shell;
    shell.unref();
    // A write into a shell that was just killed; its exit follows and brings the next one.
    shell.stdin?.on('error', () => undefined);
    const replace = (): void => {
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      if (this.#held.size > 0) this.#respawn = setTimeout(() => this.#spawnShell(), respawnMs).unref();
    };
    shell.once('exit', replace);
    shell.once('error', replace); // no shell came to be, for lack of processes perhaps: there may be one in a moment
    for (const [pid, options] of this.#held) this.#say(holdLine(pid, options));
  }

  #say(line: string): void {
    this.#shell?.stdin?.write(line);
  }
}

function holdLine(pid: number, { signal, graceMs }: LeashOptions): string {
  return `hold ${pid} ${signal.replace('SIG', '')} ${Math.max(1, Math.ceil(graceMs / tickMs))}\n`;
}
