import type { Instance, InstanceSpec } from '@drover/instance-provider';
import type { SimClock } from './sim-clock.js';
import { SimViolation } from './sim-clock.js';

/** The process of a function worker. It remembers what it has loaded, as real memory does. */
export interface SimProcess {
  readonly instanceId: string;
  readonly runtimeId: string;
  readonly requestId: string;
  /** Versions whose code it has loaded. */
  readonly loaded: Set<string>;
  instance: Instance;
  isAlive: boolean;
}

interface SimProviderOptions {
  readonly clock: SimClock;
  readonly acceptsAnyToken: boolean;
  readonly onChanged: (instance: Instance) => void;
  /** A process runs and tries to connect. */
  readonly onRunning: (process: SimProcess) => void;
  readonly onEnded: (process: SimProcess) => void;
}

/** Starts and ends processes, and refuses lower tokens than the highest it has seen. */
export class SimProvider {
  readonly processes = new Map<string, SimProcess>();
  readonly #options: SimProviderOptions;
  #highest = 0;

  constructor(options: SimProviderOptions) {
    this.#options = options;
  }

  live(): readonly SimProcess[] {
    return [...this.processes.values()].filter(({ isAlive }) => isAlive);
  }

  /** Returns false if the token was refused. */
  start(spec: InstanceSpec, token: number): boolean {
    if (!this.#accepts(token, 'start')) return false;
    const { instanceId, args } = spec;
    if (this.processes.has(instanceId)) return true;
    const [runtimeId = '', requestId = ''] = args;
    const instance = { instanceId, role: spec.role, labels: spec.labels, state: 'starting' as const, startedAtMs: 0 };
    const process = { instanceId, runtimeId, requestId, loaded: new Set<string>(), instance, isAlive: true };
    this.processes.set(instanceId, process);
    this.#options.onChanged(instance);
    this.#options.clock.after(this.#options.clock.between(20, 400), () => {
      if (!process.isAlive) return;
      this.#move(process, 'running');
      this.#options.onRunning(process);
    });
    return true;
  }

  end(instanceId: string, graceMs: number, token: number): boolean {
    if (!this.#accepts(token, 'end')) return false;
    const process = this.processes.get(instanceId);
    if (!process?.isAlive) return true;
    this.#move(process, 'ending');
    this.#options.clock.after(Math.min(graceMs, this.#options.clock.between(1, 500)), () => this.crash(process));
    return true;
  }

  forget(instanceId: string, token: number): boolean {
    if (!this.#accepts(token, 'forget')) return false;
    if (this.processes.get(instanceId)?.isAlive === false) this.processes.delete(instanceId);
    return true;
  }

  list(token: number): readonly Instance[] | undefined {
    if (!this.#accepts(token, 'list')) return undefined;
    return [...this.processes.values()].map(({ instance }) => instance);
  }

  crash(process: SimProcess): void {
    if (!process.isAlive) return;
    process.isAlive = false;
    this.#move(process, 'ended');
    this.#options.onEnded(process);
  }

  #move(process: SimProcess, state: Instance['state']): void {
    process.instance = { ...process.instance, state };
    this.#options.onChanged(process.instance);
  }

  #accepts(token: number, call: string): boolean {
    if (token < this.#highest) {
      if (!this.#options.acceptsAnyToken) return false;
      throw new SimViolation(`two leaders act: ${call} with token ${token} after ${this.#highest}`);
    }
    this.#highest = token;
    return true;
  }
}
