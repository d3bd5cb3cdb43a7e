import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { FunctionLane } from './function-lane.js';

/** The lanes of functions that have been called, one per name. What was taken out is nobody's any more but its executions'. */
export class LaneBook {
  readonly #lanes = new Map<string, FunctionLane>();

  get size(): number {
    return this.#lanes.size;
  }

  get(tenantId: TenantId, name: string): FunctionLane | undefined {
    return this.#lanes.get(keyOf(tenantId, name));
  }

  values(): IterableIterator<FunctionLane> {
    return this.#lanes.values();
  }

  add(definition: FunctionDefinition): FunctionLane {
    const lane = new FunctionLane(definition);
    this.#lanes.set(keyOf(lane.tenantId, lane.name), lane);
    return lane;
  }

  takeOut(lane: FunctionLane, why: 'removed' | 'moved'): void {
    lane.closed = why;
    const key = keyOf(lane.tenantId, lane.name);
    if (this.#lanes.get(key) === lane) this.#lanes.delete(key);
  }
}

function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}
