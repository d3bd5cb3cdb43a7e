import { routeGenerationHeader, serveAnywayHeader } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import { collectionNotAssigned } from '../errors.js';
import type { AssignedCollections } from './assigned-collections.js';
import type { LoadMeter } from './load-meter.js';

export interface CollectionUseOptions {
  readonly assigned: AssignedCollections;
  readonly load: Pick<LoadMeter, 'ended'>;
  readonly clock: Clock;
}

/** A collection that a request is about. */
interface UsedCollection {
  readonly id: string;
  readonly name: string;
}

/** Decides which requests are served here, and counts them. */
export class CollectionUse {
  readonly #options: CollectionUseOptions;

  constructor(options: CollectionUseOptions) {
    this.#options = options;
  }

  /**
   * Counts a request that begins, and returns whether `end` has to be called with its collection. Throws COLLECTION_NOT_ASSIGNED if a
   * gateway sent it and another worker serves the collection: requests that come directly are served by every worker, from the same
   * database.
   */
  begin({ id, name }: UsedCollection, headers: Readonly<Record<string, unknown>>, isEndless: boolean): boolean {
    const { assigned, clock } = this.#options;
    const isRouted = headers[routeGenerationHeader] !== undefined && headers[serveAnywayHeader] === undefined;
    const isServed = assigned.serves(id, isEndless);
    if (isRouted && !isServed) throw collectionNotAssigned({ collection: name, generation: assigned.generation });
    // A stream of a collection that drains would keep it draining.
    if (isServed) assigned.begin(id, clock.monotonicMs());
    return isServed;
  }

  /** Aborts when the streams of the collection have to end. */
  endingOf(collectionId: string): AbortSignal | undefined {
    return this.#options.assigned.endingOf(collectionId);
  }

  /** Counts a request that has ended, of whichever collection it was about. */
  end(collectionId: string | undefined, status: number, tookMs: number): void {
    const { assigned, load, clock } = this.#options;
    const isError = status >= 500;
    load.ended(tookMs, isError);
    if (collectionId !== undefined) assigned.end(collectionId, { nowMs: clock.monotonicMs(), tookMs, isError });
  }
}
