import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '@drover/service-kit';
import { hasFixedDebugPort, isDebugged, withFreeDebugPort, withLaterDebugPort } from '../commands/debug-port.js';
import type { WorkerCommand } from '../commands/worker-command.js';

/** Labels of a function worker that say whose code it runs. */
export const applicationLabel = 'drover.application';
export const versionLabel = 'drover.version';

/** What the process of an instance has of the configured debug port. */
interface DebugPortClaim {
  readonly labels: Readonly<Record<string, string>>;
  readonly pid: () => number | undefined;
  readonly sinceMs: number;
  isOwner: boolean;
}

/** Programs of this name start a debugger on SIGUSR1; the signal ends others. */
const nodeProgram = /^node(?:\.exe)?$/;
const retryMs = 100;
/** Where the system does not tell whether Node.js is ready for the signal: it is by then. */
const surelyReadyMs = 5_000;

/**
 * Decides which process has the debug port that all of them are configured with. It is that of the newest version of an application:
 * while the former version runs, a worker of the next one starts without a debugger, and gets the port when the former one ends.
 * Further workers of a version, and those of other applications, listen on free ports.
 */
export class DebugPortClaims {
  readonly #clock: Clock;
  /** By instance, in the order of their starts. */
  readonly #claims = new Map<string, DebugPortClaim>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the command that an instance is started with. `pid` is asked for later. */
  claim(
    { instanceId, labels }: { readonly instanceId: string; readonly labels: Readonly<Record<string, string>> },
    command: WorkerCommand,
    pid: () => number | undefined,
  ): WorkerCommand {
    if (!isDebugged(command.args)) return command;
    const others = [...this.#claims.values()];
    const claim = { labels, pid, sinceMs: this.#clock.monotonicMs(), isOwner: others.length === 0 };
    if (claim.isOwner) {
      this.#claims.set(instanceId, claim);
      return command;
    }
    const isNext =
      others.every(({ labels: other }) => isOtherVersion(other, labels)) &&
      hasFixedDebugPort(command.args) &&
      nodeProgram.test(path.basename(command.executable));
    if (!isNext) return withFreeDebugPort(command);
    this.#claims.set(instanceId, claim);
    return withLaterDebugPort(command);
  }

  /** The process of an instance has ended: if the port was its own, the newest that waits for it gets it. */
  release(instanceId: string): void {
    const wasOwner = this.#claims.get(instanceId)?.isOwner;
    this.#claims.delete(instanceId);
    const newest = [...this.#claims].at(-1);
    if (wasOwner && newest) this.#handOver(...newest);
  }

  #handOver(instanceId: string, claim: DebugPortClaim): void {
    claim.isOwner = true;
    const pid = claim.pid();
    if (pid === undefined || this.#claims.get(instanceId) !== claim) return;
    // Until Node.js has its handler, the signal would end the process.
    if (!isReadyForSignal(pid, this.#clock.monotonicMs() - claim.sinceMs)) {
      this.#clock.after(retryMs, () => this.#handOver(instanceId, claim));
      return;
    }
    try {
      process.kill(pid, 'SIGUSR1');
    } catch {
      // it has ended
    }
  }
}

function isOtherVersion(one: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean {
  const version = labels[versionLabel];
  return version !== undefined && one[applicationLabel] === labels[applicationLabel] && one[versionLabel] !== version;
}

/** Whether a process catches SIGUSR1, which is signal 10 on Linux. */
function isReadyForSignal(pid: number, runsForMs: number): boolean {
  if (process.platform !== 'linux') return runsForMs >= surelyReadyMs;
  try {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${caught}`) & (1n << 9n)) !== 0n;
  } catch {
    return true; // it has ended
  }
}
