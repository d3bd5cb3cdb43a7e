import { spawn, type ChildProcess } from 'node:child_process';

export interface LeashOptions {
  /** How the process is asked to end; PostgreSQL reads SIGINT as "fast", everything of ours SIGTERM. */
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** How long it may take before its whole process group gets SIGKILL. */
  readonly graceMs: number;
}

// Reads "hold PID SIGNAL GRACE_SECONDS" and "drop PID"; when the pipe ends, its owner is gone, and what is still held is
// ended in reverse order, so that a server outlives its clients. Plain POSIX sh: it must run where nothing else does.
const script = `
trap '' HUP INT TERM
held=
while read -r word pid signal grace; do
  case $word in
    hold) held="$pid:$signal:$grace $held" ;;
    drop) rest=; for entry in $held; do [ "\${entry%%:*}" = "$pid" ] || rest="$rest $entry"; done; held=$rest ;;
  esac
done
for entry in $held; do
  pid=\${entry%%:*}; signal=\${entry#*:}; grace=\${signal#*:}; signal=\${signal%%:*}
  kill -s "$signal" -- "-$pid" 2>/dev/null || kill -s "$signal" "$pid" 2>/dev/null || continue
  ticks=$((grace * 10))
  while kill -s 0 "$pid" 2>/dev/null && [ $ticks -gt 0 ]; do sleep 0.1; ticks=$((ticks - 1)); done
  kill -s KILL -- "-$pid" 2>/dev/null || kill -s KILL "$pid" 2>/dev/null
done
`;

/**
 * Child processes that must not outlive this one. A shell of a few hundred kilobytes waits at the end of a pipe that
 * only this process holds; when this process dies, in whatever way, the pipe breaks and the shell ends what it holds.
 * Children should lead their own process group (spawned `detached`), so that their children go too.
 */
export class Leash {
  readonly #held = new Map<number, LeashOptions>();
  #shell: ChildProcess | undefined;

  /** The shell's pid, once something was held. */
  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  /** Ends `pid` if this process dies. The returned function lets go of it. */
  hold(pid: number, options: LeashOptions): () => void {
    this.#held.set(pid, options);
    if (this.#shell) this.#say(holdLine(pid, options));
    else this.#spawnShell();
    return () => {
      if (this.#held.delete(pid)) this.#say(`drop ${pid}\n`);
    };
  }

  /** Lets go of everything and ends the shell. */
  async stop(): Promise<void> {
    const shell = this.#shell;
    for (const pid of this.#held.keys()) this.#say(`drop ${pid}\n`);
    this.#held.clear();
    this.#shell = undefined;
    if (!shell) return;
    shell.removeAllListeners('exit');
    const gone = new Promise((resolve) => shell.once('exit', resolve));
    shell.stdin?.end();
    if (shell.exitCode === null && shell.signalCode === null) await gone;
  }

  #spawnShell(): void {
    const shell = spawn('/bin/sh', ['-c', script, 'drover-leash'], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: { PATH: '/usr/bin:/bin' },
    });
    this.#shell = shell;
    shell.unref();
    // A write into a shell that was just killed; its exit follows and brings the next one.
    shell.stdin?.on('error', () => undefined);
    shell.once('exit', () => {
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      if (this.#held.size > 0) this.#spawnShell();
    });
    for (const [pid, options] of this.#held) this.#say(holdLine(pid, options));
  }

  #say(line: string): void {
    this.#shell?.stdin?.write(line);
  }
}

function holdLine(pid: number, { signal, graceMs }: LeashOptions): string {
  return `hold ${pid} ${signal.replace('SIG', '')} ${Math.max(1, Math.ceil(graceMs / 1000))}\n`;
}
