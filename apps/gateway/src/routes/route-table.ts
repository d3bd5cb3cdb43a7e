import type { CollectionRoute } from '@drover/contracts';

/** Where a collection is served. Its name is not part of it: a rename publishes no route. */
export type ServedRoute = Pick<CollectionRoute, 'collectionId' | 'tenantId' | 'generation' | 'endpoints'>;

/**
 * Routes by collection. Applying them twice, late or in another order leads to the same table: the highest generation of a collection
 * is the one that holds.
 */
export class CollectionRouteTable {
  readonly #routes = new Map<string, ServedRoute>();
  #generation = 0;

  get size(): number {
    return this.#routes.size;
  }

  /** The highest generation of all routes that were ever known. */
  get generation(): number {
    return this.#generation;
  }

  /** The sum of the generations of all routes. */
  get generations(): number {
    let sum = 0;
    for (const { generation } of this.#routes.values()) sum += generation;
    return sum;
  }

  get all(): Iterable<ServedRoute> {
    return this.#routes.values();
  }

  find(collectionId: string): ServedRoute | undefined {
    return this.#routes.get(collectionId);
  }

  /**
   * Takes over a snapshot of all routes. `since` is `generation` from before the snapshot was read: a route that the snapshot lacks
   * was removed, unless it came while the snapshot was read. Returns the collections whose route changed.
   */
  load(routes: readonly ServedRoute[], since: number): string[] {
    const kept = new Set(routes.map(({ collectionId }) => collectionId));
    const removed = [...this.#routes.values()].filter(
      ({ collectionId, generation }) => generation <= since && !kept.has(collectionId),
    );
    for (const { collectionId } of removed) this.#routes.delete(collectionId);
    const changed = routes.filter((route) => this.apply(route));
    return [...removed, ...changed].map(({ collectionId }) => collectionId);
  }

  /** Returns whether the route is newer than the known one. */
  apply(route: ServedRoute): boolean {
    const known = this.#routes.get(route.collectionId);
    if (known && known.generation >= route.generation) return false;
    this.#routes.set(route.collectionId, route);
    this.#generation = Math.max(this.#generation, route.generation);
    return true;
  }

  /** Returns whether the collection had a route. */
  remove(collectionId: string): boolean {
    return this.#routes.delete(collectionId);
  }
}
