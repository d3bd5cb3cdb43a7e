import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { InstanceUsage } from '../instance-provider.js';

/** CPU time and memory that the system reports of a process. */
export interface ProcessReading {
  readonly cpuMs: number;
  readonly residentBytes: number;
  /** Time in which the main thread ran or waited for a core; undefined where the system does not say. */
  readonly wantedCpuMs?: number | undefined;
}

/** Linux counts CPU time for programs in hundredths of a second, whatever its own timer does. */
const tickMs = 10;
/** A shorter time says nothing at that resolution. */
const leastMs = 500;

/** Measures one process, without its children. Call `measure` about once a second. */
export class UsageMeter {
  readonly #read: () => ProcessReading | undefined;
  readonly #limitBytes: number;
  #last: (Pick<ProcessReading, 'cpuMs' | 'wantedCpuMs'> & { readonly atMs: number }) | undefined;
  #usage: InstanceUsage | undefined;

  constructor(read: () => ProcessReading | undefined, limitMb: number | undefined) {
    this.#read = read;
    this.#limitBytes = limitMb === undefined ? totalmem() : limitMb * 1_048_576;
  }

  /** Returns undefined until a second measurement, and where the system has no such numbers. */
  measure(nowMs: number): InstanceUsage | undefined {
    if (this.#last && nowMs - this.#last.atMs < leastMs) return this.#usage;
    const reading = this.#read();
    if (!reading) return (this.#usage = undefined);
    const { cpuMs, residentBytes, wantedCpuMs } = reading;
    if (this.#last) {
      const elapsedMs = nowMs - this.#last.atMs;
      const cpu = Math.max(0, cpuMs - this.#last.cpuMs) / elapsedMs;
      const wantedMs = (wantedCpuMs ?? Number.NaN) - (this.#last.wantedCpuMs ?? Number.NaN);
      const demand = Number.isNaN(wantedMs) ? {} : { cpuDemand: Math.min(1, Math.max(0, wantedMs / elapsedMs)) };
      this.#usage = { cpu, memory: residentBytes / this.#limitBytes, ...demand };
    }
    this.#last = { atMs: nowMs, cpuMs, wantedCpuMs };
    return this.#usage;
  }
}

/** Reads what Linux reports of a process. Returns undefined on other systems, and when the process has ended. */
export function readProcess(pid: number): ProcessReading | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // "pid (name) state …": the name may have spaces and brackets of its own.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    const ticks = Number(fields[11]) + Number(fields[12]);
    if (!resident) return undefined;
    return {
      cpuMs: ticks * tickMs,
      residentBytes: Number(resident[1]) * 1_024,
      wantedCpuMs: readWantedCpu(pid),
    };
  } catch {
    return undefined;
  }
}

/** "ran waited slices" of the main thread, in nanoseconds. Kernels without scheduler statistics have no such file, or zeros. */
function readWantedCpu(pid: number): number | undefined {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number);
    return ran > 0 ? (ran + waited) / 1e6 : undefined;
  } catch {
    return undefined;
  }
}
