import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { FunctionQueue } from './function-queue.js';

/** The queues of functions that have been called, one per name. What was taken out is nobody's any more but its executions'. */
export class FunctionQueues {
  readonly #queues = new Map<string, FunctionQueue>();

  get size(): number {
    return this.#queues.size;
  }

  get(tenantId: TenantId, name: string): FunctionQueue | undefined {
    return this.#queues.get(keyOf(tenantId, name));
  }

  values(): IterableIterator<FunctionQueue> {
    return this.#queues.values();
  }

  add(definition: FunctionDefinition): FunctionQueue {
    const queue = new FunctionQueue(definition);
    this.#queues.set(keyOf(queue.tenantId, queue.name), queue);
    return queue;
  }

  remove(queue: FunctionQueue, why: 'removed' | 'moved'): void {
    queue.closed = why;
    const key = keyOf(queue.tenantId, queue.name);
    if (this.#queues.get(key) === queue) this.#queues.delete(key);
  }
}

function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}
