import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';

/** What the search for a launcher needs to know about a process. */
export interface ProcessFacts {
  readonly parent: number;
  /** Process group. */
  readonly group: number;
  /** Name of its program, such as `sh`. */
  readonly name: string;
  /** Undefined if it cannot be determined. */
  readonly executable: string | undefined;
}

export type LookUpProcess = (pid: number) => ProcessFacts | undefined;

/** The package manager whose script this process is: npm, npx, yarn or pnpm. */
export interface Launcher {
  /** Calls `action` once when the launcher, or a shell between it and this process, has exited. */
  onLost(action: () => void): void;
}

const shell = /^-?(?:ba|da|z|k|a|fi)?sh$|^busybox$/;
/** This process, at most two shells, and the launcher. */
const longestChain = 4;
const pollMs = 500;

/**
 * Returns the launcher of this process, or undefined if it was not started by a package manager. A package manager forwards
 * SIGTERM only to the shell that it started, and nothing when it is killed: without this, the script would go on alone.
 */
export function findLauncher(host: NodeJS.Process): Launcher | undefined {
  if (host.env['npm_lifecycle_event'] === undefined) return undefined;
  const chain = launchChain(host.pid, lookUpProcess, host.env['npm_node_execpath']);
  if (!chain) return undefined;
  const parentOf = (pid: number): number | undefined => (pid === host.pid ? host.ppid : parentNow(pid));
  return {
    onLost(action) {
      const timer = setInterval(() => {
        if (!isChainBroken(chain, parentOf)) return;
        clearInterval(timer);
        action();
      }, pollMs);
      timer.unref();
    },
  };
}

/**
 * Returns the pids from `self` up to the launcher: the first ancestor that is not a shell and runs on `node`. All are in the
 * process group of `self`: a job of an interactive shell, or a process that was detached on purpose, has a group of its own.
 */
export function launchChain(
  self: number,
  lookUp: LookUpProcess,
  node: string | undefined,
): readonly number[] | undefined {
  const own = lookUp(self);
  const chain = [self];
  for (let at = own; at && chain.length < longestChain; ) {
    const { parent } = at;
    const facts = lookUp(parent);
    if (!facts || facts.group !== own?.group) return undefined;
    chain.push(parent);
    if (!shell.test(facts.name)) return facts.executable === undefined || facts.executable === node ? chain : undefined;
    at = facts;
  }
  return undefined;
}

/** Whether a process of the chain has another parent than before: the one it had is dead, even if it was not reaped yet. */
export function isChainBroken(chain: readonly number[], parentOf: (pid: number) => number | undefined): boolean {
  return chain.some((pid, index) => index + 1 < chain.length && parentOf(pid) !== chain[index + 1]);
}

function lookUpProcess(pid: number): ProcessFacts | undefined {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(parent), group: Number(group), name, executable: executableOf(pid) };
  } catch {
    return undefined;
  }
}

function executableOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined; // a process of another user
  }
}

/** Systems without /proc (macOS). */
function fromPs(pid: number): ProcessFacts | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,pgid=,comm=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, group, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.+)$/m.exec(stdout ?? '') ?? [];
  if (parent === undefined) return undefined;
  const name = command.slice(command.lastIndexOf('/') + 1).trim();
  return { parent: Number(parent), group: Number(group), name, executable: undefined };
}

function parentNow(pid: number): number | undefined {
  return lookUpProcess(pid)?.parent;
}
