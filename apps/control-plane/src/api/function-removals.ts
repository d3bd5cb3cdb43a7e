import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { partitionOf, type OwnerDirectory } from '@drover/ownership';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { QueueCommands } from '../executions/queries/queue-commands.js';
import type { FunctionAddress, FunctionStore } from '../functions/function-store.js';
import type { FunctionObservation } from '../functions/observations.js';
import type { StoredFunctionCatalog } from '../functions/stored-function-catalog.js';

export interface FunctionRemovalsOptions {
  readonly store: Pick<FunctionStore, 'remove' | 'listRemoving'>;
  readonly catalog: Pick<StoredFunctionCatalog, 'changed' | 'onChange'>;
  readonly queues: Pick<QueueCommands, 'countsOf'>;
  readonly owners: Pick<OwnerDirectory, 'locate'>;
  readonly clock: Clock;
  readonly observe: Observe<FunctionObservation>;
}

const checkEveryMs = 1_000;

/**
 * Removes functions: at once, or when the queue of a draining function is empty. Which functions wait for that is in the registry; every
 * replica knows them, and the owner of a function removes it. So a removal survives restarts and moves.
 */
export class FunctionRemovals implements Lifecycle {
  readonly name = 'function removals';
  readonly #options: FunctionRemovalsOptions;
  readonly #draining = new Map<string, FunctionAddress>();
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(options: FunctionRemovalsOptions) {
    this.#options = options;
    options.catalog.onChange((tenantId, name, now) => this.#changed(tenantId, name, now));
  }

  async start(): Promise<void> {
    for (const address of await this.#options.store.listRemoving()) this.#add(address);
  }

  async drain(): Promise<void> {
    this.#end();
  }

  async stop(): Promise<void> {
    this.#end();
  }

  /** Returns the removed function, or undefined if there was none. */
  async remove(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const { store, catalog, observe } = this.#options;
    const definition = await store.remove(tenantId, name);
    if (!definition) return undefined;
    await catalog.changed(tenantId, name);
    const { generation, revision } = definition;
    observe({ kind: 'function.changed', tenantId, name, generation, revision, change: 'removed' });
    return definition;
  }

  #changed(tenantId: TenantId, name: string, now: FunctionDefinition | undefined): void {
    if (now?.queueControl?.isRemoving) this.#add({ tenantId, name });
    else this.#draining.delete(keyOf({ tenantId, name }));
  }

  #add(address: FunctionAddress): void {
    this.#draining.set(keyOf(address), address);
    if (this.#isStopped) return;
    this.#cancelTimer ??= this.#options.clock.after(checkEveryMs, () => {
      this.#cancelTimer = undefined;
      void this.#removeDrained().finally(() => {
        for (const left of [...this.#draining.values()].slice(0, 1)) this.#add(left);
      });
    });
  }

  async #removeDrained(): Promise<void> {
    const { queues, owners, observe } = this.#options;
    for (const { tenantId, name } of this.#draining.values()) {
      if (owners.locate(partitionOf(tenantId, name)).kind !== 'local') continue;
      if (Object.values(queues.countsOf(tenantId, name)).some((calls) => calls > 0)) continue;
      await this.remove(tenantId, name).catch((error: unknown) => observe({ kind: 'function.removal-failed', error }));
    }
  }

  #end(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}

function keyOf({ tenantId, name }: FunctionAddress): string {
  return `${tenantId}/${name}`;
}
