import type { Clock } from '@drover/service-kit';
import { instanceRefused } from '../errors.js';
import type {
  Instance,
  InstanceEvent,
  InstanceProvider,
  InstanceRole,
  InstanceSpec,
  InstanceUsage,
} from '../instance-provider.js';
import { InstanceTable } from '../local/instance-table.js';

export interface FakeInstanceProviderOptions {
  readonly clock: Clock;
  /** Time from the call until the instance runs; undefined: it never does. */
  readonly startMs?: (spec: InstanceSpec) => number | undefined;
  /** Time that an instance takes to end once it is told to; it is killed at the end of its grace. */
  readonly endMs?: (instanceId: string) => number;
  readonly maxInstances?: number;
  /** Instances of other roles are refused; all roles unless given. */
  readonly roles?: readonly InstanceRole[];
  /** What a running instance uses; nothing is known unless given. */
  readonly usage?: (instanceId: string) => InstanceUsage | undefined;
}

/**
 * Instances without processes, for simulations: the fence, the states and the events of the real providers, on a clock of the test.
 * Everything happens in the order of that clock, so a seed replays.
 */
export class FakeInstanceProvider implements InstanceProvider {
  readonly #options: FakeInstanceProviderOptions;
  readonly #table: InstanceTable;
  readonly #specs = new Map<string, InstanceSpec>();
  readonly #timers = new Map<string, () => void>();
  /** When an instance that was told to end is killed. */
  readonly #endsByMs = new Map<string, number>();
  #refusal: string | undefined;

  constructor(options: FakeInstanceProviderOptions) {
    this.#options = options;
    this.#table = new InstanceTable({ maxInstances: options.maxInstances ?? 1_000_000 });
  }

  /** Every instance that was ever started, with what it was started with. */
  get specs(): ReadonlyMap<string, InstanceSpec> {
    return this.#specs;
  }

  async start(spec: InstanceSpec, token: number): Promise<void> {
    this.#table.fence(token);
    const { instanceId } = spec;
    if (this.#refusal !== undefined) throw instanceRefused({ instanceId, reason: this.#refusal });
    if (this.#options.roles?.includes(spec.role) === false)
      throw instanceRefused({ instanceId, reason: `no program is configured for a ${spec.role}.` });
    if (!this.#table.add(spec, this.#options.clock.now())) return;
    this.#specs.set(instanceId, spec);
    const { startMs = () => 0 } = this.#options;
    const delayMs = startMs(spec);
    if (delayMs !== undefined) this.#later(instanceId, delayMs, () => void this.#table.move(instanceId, 'running'));
  }

  async end(instanceId: string, graceMs: number, token: number): Promise<void> {
    this.#table.fence(token);
    const { clock, endMs = () => 0 } = this.#options;
    const isFirst = this.#table.move(instanceId, 'ending');
    const endsByMs = clock.monotonicMs() + graceMs;
    if (!this.#table.isRunning(instanceId)) return;
    if (!isFirst && endsByMs >= (this.#endsByMs.get(instanceId) ?? 0)) return;
    this.#endsByMs.set(instanceId, endsByMs);
    const neededMs = endMs(instanceId);
    const end =
      neededMs <= graceMs ? { isClean: true, text: 'exit code 0' } : { isClean: false, text: 'signal SIGKILL' };
    this.#later(instanceId, Math.min(neededMs, graceMs), () => this.exit(instanceId, end));
  }

  async list(token?: number): Promise<readonly Instance[]> {
    if (token !== undefined) this.#table.fence(token);
    return this.#table.list().map((instance) => {
      const usage = instance.state === 'running' ? this.#options.usage?.(instance.instanceId) : undefined;
      return usage ? { ...instance, usage } : instance;
    });
  }

  async forget(instanceId: string, token: number): Promise<void> {
    this.#table.fence(token);
    this.#table.forget(instanceId);
  }

  subscribe(listener: (event: InstanceEvent) => void): () => void {
    return this.#table.subscribe(listener);
  }

  /** Ends an instance as kill -9 does. */
  crash(instanceId: string): void {
    this.exit(instanceId, { isClean: false, text: 'signal SIGKILL' });
  }

  /** Ends an instance by itself. */
  exit(instanceId: string, end: NonNullable<Instance['end']>): void {
    this.#timers.get(instanceId)?.();
    this.#timers.delete(instanceId);
    this.#endsByMs.delete(instanceId);
    this.#table.ended(instanceId, end);
  }

  /** Refuses every start from now on, for example because the machine is full; undefined: accepts them again. */
  refuseStarts(reason: string | undefined): void {
    this.#refusal = reason;
  }

  #later(instanceId: string, delayMs: number, action: () => void): void {
    this.#timers.get(instanceId)?.();
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(instanceId);
      action();
    });
    this.#timers.set(instanceId, cancel);
  }
}
