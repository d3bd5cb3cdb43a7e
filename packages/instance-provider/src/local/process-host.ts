import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Clock, Leash, Observe } from '@drover/service-kit';
import type { WorkerCommand } from '../commands/worker-command.js';
import { instanceRefused } from '../errors.js';
import type { Instance, InstanceEvent, InstanceProvider, InstanceRole, InstanceSpec } from '../instance-provider.js';
import { readProcess, UsageMeter } from '../processes/process-usage.js';
import { WorkerProcess, type ProcessEnd } from '../processes/worker-process.js';
import { DebugPortClaims } from './debug-port-claims.js';
import type { ProcessHostObservation } from './process-host-observations.js';
import { InstanceTable } from './instance-table.js';

/** What the instances of a role run. */
export interface RoleProgram {
  readonly command: WorkerCommand;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  /** Gets each line that an instance prints, for programs whose output is a log already; else lines are observations. */
  readonly print?: (line: string) => void;
}

export interface ProcessHostOptions {
  /** An instance of a role without a program is refused. */
  readonly programs: Readonly<Partial<Record<InstanceRole, RoleProgram>>>;
  /** Ends the processes if this one is killed. */
  readonly leash: Leash;
  readonly clock: Clock;
  readonly observe: Observe<ProcessHostObservation>;
  readonly maxInstances?: number;
}

const defaultMaxInstances = 1_000;
/** Time that processes have to end when the host stops. */
const stopGraceMs = 2_000;

/**
 * Runs instances as processes of this machine. It belongs to a process that outlives the scale controller: `drover up`, or the
 * scale controller itself where it runs alone. Instances outlive their caller, and end with this process: the leash ends them if
 * it is killed.
 */
export class ProcessHost implements InstanceProvider {
  readonly #options: ProcessHostOptions;
  readonly #table: InstanceTable;
  readonly #processes = new Map<string, HostedProcess>();
  readonly #debugPort: DebugPortClaims;
  #isReporting = true;
  #isStopping = false;

  constructor(options: ProcessHostOptions) {
    this.#options = options;
    this.#debugPort = new DebugPortClaims(options.clock);
    this.#table = new InstanceTable({ maxInstances: options.maxInstances ?? defaultMaxInstances });
  }

  async start(spec: InstanceSpec, token: number): Promise<void> {
    this.#fence('start', spec.instanceId, token);
    const { instanceId, role } = spec;
    const program = this.#options.programs[role];
    if (this.#isStopping) throw instanceRefused({ instanceId, reason: 'the platform on this machine stops.' });
    if (!program) throw instanceRefused({ instanceId, reason: `no program is configured for a ${role}.` });
    if (this.#table.add(spec, this.#options.clock.now())) this.#spawn(spec, program);
  }

  async end(instanceId: string, graceMs: number, token: number): Promise<void> {
    this.#fence('end', instanceId, token);
    this.#end(instanceId, graceMs);
  }

  async list(token?: number): Promise<readonly Instance[]> {
    if (token !== undefined) this.#table.fence(token);
    const nowMs = this.#options.clock.monotonicMs();
    const machineCores = availableParallelism();
    return this.#table.list().map((instance) => {
      const usage = this.#processes.get(instance.instanceId)?.meter.measure(nowMs);
      return { ...instance, machineCores, ...(usage && { usage }) };
    });
  }

  async forget(instanceId: string, token: number): Promise<void> {
    this.#fence('forget', instanceId, token);
    this.#table.forget(instanceId);
  }

  subscribe(listener: (event: InstanceEvent) => void): () => void {
    return this.#table.subscribe(listener);
  }

  /** Reports no further ends: the platform on this machine stops, so the scale controller must not take them for losses. */
  stopReporting(): void {
    this.#isReporting = false;
  }

  /** Refuses further instances and ends all; resolves when none runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const processes = [...this.#processes];
    for (const [instanceId] of processes) this.#end(instanceId, stopGraceMs);
    await Promise.all(processes.map(([, { child }]) => child.ended));
  }

  #fence(call: string, instanceId: string, token: number): void {
    try {
      this.#table.fence(token);
    } catch (error) {
      this.#options.observe({ kind: 'process.fenced', call, instanceId, token });
      throw error;
    }
  }

  #end(instanceId: string, graceMs: number): void {
    const hosted = this.#processes.get(instanceId);
    if (!hosted) return;
    // Told twice: the earlier of the two deadlines holds, and no second SIGTERM cuts a shutdown short.
    const isFirst = this.#table.move(instanceId, 'ending');
    const untilMs = this.#options.clock.monotonicMs() + graceMs;
    if (hosted.endsByMs !== undefined && hosted.endsByMs <= untilMs) return;
    hosted.endsByMs = untilMs;
    hosted.child.end(graceMs, { endsByItself: !isFirst });
  }

  #spawn(spec: InstanceSpec, { command, environment, directory, print }: RoleProgram): void {
    const { clock, leash, observe } = this.#options;
    const { instanceId, role } = spec;
    const wholeCommand = this.#commandOf(spec, command);
    let child: WorkerProcess;
    try {
      child = new WorkerProcess({
        command: wholeCommand,
        args: spec.args,
        directory,
        environment: { ...environment, ...spec.environment },
        clock,
        onStarted: () => void this.#table.move(instanceId, 'running'),
        onLine: ({ level, text }) =>
          print ? print(text) : observe({ kind: 'process.line', workerId: instanceId, level, text }),
        onEnd: (end) => this.#ended(instanceId, role, end),
      });
    } catch (error) {
      // Too long a command line, for example.
      const text = `could not be started: ${error instanceof Error ? error.message : String(error)}`;
      return this.#ended(instanceId, role, { kind: 'crashed', text });
    }
    const { pid } = child;
    // A killed host is no reason to wait: what its workers ran is delivered again.
    const release = pid === undefined ? () => undefined : leash.hold(pid, { signal: 'SIGKILL', graceMs: 0 });
    this.#processes.set(instanceId, {
      child,
      release,
      meter: new UsageMeter(() => (pid === undefined ? undefined : readProcess(pid)), spec.limits?.memoryMb),
      endsByMs: undefined,
    });
    observe({ kind: 'process.started', role, workerId: instanceId, pid });
  }

  #commandOf(
    { instanceId, labels, programOptions = [], limits }: InstanceSpec,
    { executable, args }: WorkerCommand,
  ): WorkerCommand {
    const memory =
      limits?.memoryMb !== undefined && nodeProgram.test(path.basename(executable))
        ? [`--max-old-space-size=${limits.memoryMb}`]
        : [];
    const command = { executable, args: [...memory, ...programOptions, ...args] };
    return this.#debugPort.claim({ instanceId, labels }, command, () => this.#processes.get(instanceId)?.child.pid);
  }

  #ended(instanceId: string, role: InstanceRole, end: ProcessEnd): void {
    const hosted = this.#processes.get(instanceId);
    this.#processes.delete(instanceId);
    this.#debugPort.release(instanceId);
    hosted?.release();
    const wasTold = hosted?.endsByMs !== undefined;
    const isClean = end.kind !== 'crashed' || (wasTold && end.text.startsWith('signal SIGTERM'));
    this.#options.observe({ kind: 'process.ended', role, workerId: instanceId, isClean, text: end.text });
    if (this.#isReporting) this.#table.ended(instanceId, { isClean, text: end.text });
  }
}

interface HostedProcess {
  readonly child: WorkerProcess;
  /** Takes it off the leash. */
  readonly release: () => void;
  readonly meter: UsageMeter;
  /** When it is killed; undefined until it is told to end. */
  endsByMs: number | undefined;
}

/** Takes the option for its heap; programs of other languages have none. */
const nodeProgram = /^node(?:\.exe)?$/;
