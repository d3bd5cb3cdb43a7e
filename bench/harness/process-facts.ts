import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second, on every Linux that Node runs on. */
const tickMs = 10;
const kibibytesInMebibyte = 1_024;

/** CPU time of a process so far; only Linux tells. */
export function cpuMsOf(pid: number): number | undefined {
  const stat = read(pid, 'stat');
  if (stat === undefined) return undefined;
  // "pid (name) state …": the name may hold spaces and brackets of its own.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** CPU time of this process so far, on every system. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Memory that a process has in RAM, in MiB; only Linux tells. */
export function rssOf(pid: number): number | undefined {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '') ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) / kibibytesInMebibyte;
}

/** Processes that a process has started and that still run; only Linux tells. */
export function childrenOf(pid: number): number[] {
  const children = read(pid, `task/${pid}/children`) ?? '';
  return children.split(' ').filter(Boolean).map(Number);
}

/** Processes below a process, at any depth; only Linux tells. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** The command line of a process, with spaces between its arguments; only Linux tells. */
export function commandOf(pid: number): string | undefined {
  return read(pid, 'cmdline')?.replaceAll('\0', ' ');
}

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
