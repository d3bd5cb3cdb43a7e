import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { FunctionMetrics } from './function-metrics.js';

export interface MeasuredFunctionsLimits {
  /** Functions with metrics. A further one replaces the one that moved away first; without such a one it is not shown. */
  readonly functions: number;
  /** Functions whose histograms have buckets. Those of further ones have sum and count only. */
  readonly withBuckets: number;
}

/** At 10,000 functions a page has 16 MB; with buckets for all of them it would have 40. */
const defaultLimits: MeasuredFunctionsLimits = { functions: 20_000, withBuckets: 500 };

/**
 * The metrics of every function that this replica has run. They outlive the queue: a function whose partition moves to another
 * replica keeps its series here, and goes on counting in them when it comes back. They end with the function.
 */
export class MeasuredFunctions {
  readonly #limits: MeasuredFunctionsLimits;
  readonly #all = new Map<string, FunctionMetrics>();
  /** Keys of functions without a queue here, in the order in which they moved away. */
  readonly #moved = new Set<string>();
  #withBuckets = 0;

  constructor(limits: MeasuredFunctionsLimits = defaultLimits) {
    this.#limits = limits;
  }

  values(): IterableIterator<FunctionMetrics> {
    return this.#all.values();
  }

  /** Returns the metrics of this generation of the function for its queue. */
  open(definition: FunctionDefinition): FunctionMetrics {
    const { tenantId, name, generation } = definition;
    const key = keyOf(tenantId, name);
    const known = this.#all.get(key);
    if (known?.generation === generation) {
      this.#moved.delete(key);
      return known;
    }
    if (known) this.remove(tenantId, name);
    const isShown = this.#all.size < this.#limits.functions || this.#makeRoom();
    const hasBuckets = isShown && this.#withBuckets < this.#limits.withBuckets;
    const metrics = new FunctionMetrics(definition, hasBuckets);
    if (!isShown) return metrics;
    if (hasBuckets) this.#withBuckets += 1;
    this.#all.set(key, metrics);
    return metrics;
  }

  /** The function has no queue here any more, but goes on elsewhere. */
  moved(tenantId: TenantId, name: string): void {
    const key = keyOf(tenantId, name);
    if (this.#all.has(key)) this.#moved.add(key);
  }

  /** The function is gone. */
  remove(tenantId: TenantId, name: string): void {
    this.#delete(keyOf(tenantId, name));
  }

  #makeRoom(): boolean {
    const [oldest] = this.#moved;
    return oldest !== undefined && this.#delete(oldest);
  }

  #delete(key: string): boolean {
    if (this.#all.get(key)?.hasBuckets) this.#withBuckets -= 1;
    this.#moved.delete(key);
    return this.#all.delete(key);
  }
}

function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}
