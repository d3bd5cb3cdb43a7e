import { instanceFenced, instanceRefused } from '../errors.js';
import { instanceStates, type Instance, type InstanceEvent, type InstanceSpec } from '../instance-provider.js';
import { problemOfSpec } from '../instance-spec.js';

interface InstanceRecord {
  readonly spec: InstanceSpec;
  readonly startedAtMs: number;
  readonly state: ReturnType<typeof instanceStates.start>;
  end?: NonNullable<Instance['end']>;
}

/** Ended instances whose record is kept; beyond, the oldest are dropped. Only a leader that never forgets gets there. */
const maxEnded = 1_000;

/**
 * The instances of a provider that holds them in memory: their states, the fence, the subscribers. It starts and ends nothing.
 * The fence need not survive its process: the instances do not, either.
 */
export class InstanceTable {
  readonly #maxInstances: number;
  readonly #records = new Map<string, InstanceRecord>();
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  #highest = 0;

  constructor({ maxInstances }: { readonly maxInstances: number }) {
    this.#maxInstances = maxInstances;
  }

  /** Throws INSTANCE_FENCED for a token that is lower than an earlier one. Lower ones than this are refused from now on. */
  fence(token: number): void {
    if (!Number.isSafeInteger(token) || token < this.#highest) throw instanceFenced({ token, highest: this.#highest });
    this.#highest = token;
  }

  /** Adds an instance in state `starting`. Returns false if it is known already, ended or not. Throws INSTANCE_REFUSED. */
  add(spec: InstanceSpec, startedAtMs: number): boolean {
    const { instanceId } = spec;
    if (this.#records.has(instanceId)) return false;
    const problem = problemOfSpec(spec) ?? this.#problemOfNumber();
    if (problem !== undefined) throw instanceRefused({ instanceId, reason: problem });
    this.#records.set(instanceId, { spec, startedAtMs, state: instanceStates.start('starting') });
    this.#emit(instanceId);
    return true;
  }

  /** Moves an instance on, if it is known and the state may follow its own. Returns whether it did. */
  move(instanceId: string, to: 'running' | 'ending'): boolean {
    const record = this.#records.get(instanceId);
    if (!record || !instanceStates.canMove(record.state.current, to)) return false;
    record.state.move(to);
    this.#emit(instanceId);
    return true;
  }

  ended(instanceId: string, end: NonNullable<Instance['end']>): void {
    const record = this.#records.get(instanceId);
    if (!record || record.state.is('ended')) return;
    record.state.move('ended');
    record.end = end;
    this.#emit(instanceId);
    this.#dropOldest();
  }

  isRunning(instanceId: string): boolean {
    return this.#records.get(instanceId)?.state.is('ended') === false;
  }

  list(): readonly Instance[] {
    return [...this.#records.values()].map(toInstance);
  }

  forget(instanceId: string): void {
    if (!this.isRunning(instanceId)) this.#records.delete(instanceId);
  }

  subscribe(listener: (event: InstanceEvent) => void): () => void {
    const entry = (event: InstanceEvent): void => listener(event);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  #problemOfNumber(): string | undefined {
    const running = [...this.#records.keys()].filter((id) => this.isRunning(id)).length;
    return running < this.#maxInstances ? undefined : `${this.#maxInstances} instances run, which is the limit.`;
  }

  #emit(instanceId: string): void {
    const record = this.#records.get(instanceId);
    if (!record) return;
    const event: InstanceEvent = { kind: 'changed', instance: toInstance(record) };
    for (const listener of this.#listeners) listener(event);
  }

  #dropOldest(): void {
    const ended = [...this.#records].filter(([, { state }]) => state.is('ended'));
    for (const [instanceId] of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#records.delete(instanceId);
  }
}

function toInstance({ spec, startedAtMs, state, end }: InstanceRecord): Instance {
  const { instanceId, role, labels } = spec;
  return { instanceId, role, labels, state: state.current, startedAtMs, ...(end && { end }) };
}
