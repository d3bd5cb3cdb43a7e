import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { partitionOf } from '@drover/ownership';
import { FunctionMetrics } from './function-metrics.js';
import { Deque } from './queues/deque.js';
import type { RingMember } from './queues/fair-ring.js';
import type { LiveExecution } from './live-execution.js';

/** How much of the newest duration goes into the average: the last ten or so count. */
const newestShare = 0.1;

/**
 * One incarnation of a function at its home: its queue, its slots, its metrics. A function that is removed and registered again
 * gets another queue, so that nothing late of the old one touches the new one.
 */
export class FunctionQueue implements RingMember {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
  readonly partition: number;
  readonly metrics = new FunctionMetrics();
  /** In the order of acceptance. What was ended meanwhile is passed over. */
  readonly entries = new Deque<LiveExecution>();
  /** Of the newest revision. */
  definition: FunctionDefinition;
  isInRing = false;
  /** Places that are taken: by those in the queue, and by those that are just being accepted. */
  waiting = 0;
  /** Slots that attempts hold. */
  inFlight = 0;
  /** Nothing new comes in: the function was removed, or its home is another replica now. */
  closed: 'removed' | 'moved' | undefined;
  #serviceMs = 0;

  constructor(definition: FunctionDefinition) {
    this.definition = definition;
    this.tenantId = definition.tenantId;
    this.name = definition.name;
    this.generation = definition.generation;
    this.partition = partitionOf(definition.tenantId, definition.name);
  }

  get hasRoom(): boolean {
    return this.waiting < this.definition.queueSize;
  }

  get isReady(): boolean {
    return this.entries.size > 0 && this.inFlight < this.definition.concurrency;
  }

  /** The next that still wants to run, out of the queue. */
  take(): LiveExecution | undefined {
    for (let next = this.entries.shift(); next; next = this.entries.shift()) {
      // Ended or dropped while it waited; its place was given back then.
      if (next.state !== 'queued' || next.outcome || next.isDropped) continue;
      this.waiting -= 1;
      return next;
    }
    return undefined;
  }

  recordServiceTime(durationMs: number): void {
    this.#serviceMs =
      this.#serviceMs === 0 ? durationMs : this.#serviceMs + newestShare * (durationMs - this.#serviceMs);
  }

  /** How long whoever comes last now would wait for a slot; 0 as long as nothing has run. */
  get estimatedWaitMs(): number {
    return (this.waiting * this.#serviceMs) / this.definition.concurrency;
  }
}
