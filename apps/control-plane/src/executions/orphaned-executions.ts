import type { FunctionDefinition } from '@drover/dispatchers';
import type { UnfinishedExecution } from '@drover/execution-store';

type OrphanScope = Pick<FunctionDefinition, 'tenantId' | 'name' | 'generation'>;

/**
 * Durable executions of this replica whose function is unknown at the moment: its application is starting, was removed, or has a version
 * without it. They wait, and hold no place in a queue.
 */
export class OrphanedExecutions {
  readonly #orphans = new Map<string, UnfinishedExecution>();
  #onAdded: () => void = () => undefined;

  get size(): number {
    return this.#orphans.size;
  }

  /** Sets the one listener that is called after executions were added. */
  onAdded(listener: () => void): void {
    this.#onAdded = listener;
  }

  get(executionId: string): UnfinishedExecution | undefined {
    return this.#orphans.get(executionId);
  }

  all(): IterableIterator<UnfinishedExecution> {
    return this.#orphans.values();
  }

  add(executions: readonly UnfinishedExecution[]): void {
    for (const execution of executions) this.#orphans.set(execution.accepted.executionId, execution);
    if (executions.length > 0) this.#onAdded();
  }

  /** Returns them in groups of one function each, in the order of acceptance. */
  byFunction(): readonly (readonly [UnfinishedExecution, ...UnfinishedExecution[]])[] {
    const groups = new Map<string, [UnfinishedExecution, ...UnfinishedExecution[]]>();
    for (const orphan of this.#orphans.values()) {
      const key = `${orphan.accepted.tenantId}/${orphan.accepted.functionName}`;
      const group = groups.get(key);
      if (group) group.push(orphan);
      else groups.set(key, [orphan]);
    }
    for (const group of groups.values())
      group.sort(({ accepted: one }, { accepted: other }) => (one.executionId < other.executionId ? -1 : 1));
    return [...groups.values()];
  }

  /** Removes and returns those of one generation of a function, in the order of acceptance. */
  takeOf({ tenantId, name, generation }: OrphanScope): readonly UnfinishedExecution[] {
    if (this.#orphans.size === 0) return [];
    const group = this.byFunction().find(
      ([{ accepted }]) => accepted.tenantId === tenantId && accepted.functionName === name,
    );
    const taken = group?.filter(({ accepted }) => accepted.generation === generation) ?? [];
    for (const { accepted } of taken) this.#orphans.delete(accepted.executionId);
    return taken;
  }

  delete(executionId: string): void {
    this.#orphans.delete(executionId);
  }
}
