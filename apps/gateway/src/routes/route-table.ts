import type { CollectionRoute } from '@drover/contracts';

/** Routes by tenant and name. Applying them twice, late or in another order leads to the same table. */
export class RouteTable {
  readonly #byId = new Map<string, CollectionRoute>();
  readonly #byName = new Map<string, CollectionRoute>();
  /** Generations of removed collections: a late event must not bring them back. */
  readonly #removed = new Set<string>();

  /** Replaces everything by what was read from the database after `positions` of the events that follow. */
  load(routes: readonly CollectionRoute[]): void {
    this.#byId.clear();
    this.#byName.clear();
    for (const route of routes) this.apply(route);
  }

  apply(route: CollectionRoute): void {
    const { collectionId, generation } = route;
    if (this.#removed.has(collectionId)) return;
    const known = this.#byId.get(collectionId);
    if (known && known.generation >= generation && known.name === route.name) return;
    if (known) this.#byName.delete(keyOf(known));
    this.#byId.set(collectionId, known && known.generation > generation ? { ...known, name: route.name } : route);
    this.#byName.set(keyOf(route), this.#byId.get(collectionId) ?? route);
  }

  remove(collectionId: string): void {
    this.#removed.add(collectionId);
    const known = this.#byId.get(collectionId);
    if (!known) return;
    this.#byId.delete(collectionId);
    if (this.#byName.get(keyOf(known)) === known) this.#byName.delete(keyOf(known));
  }

  find(tenantId: string, name: string): CollectionRoute | undefined {
    return this.#byName.get(keyOf({ tenantId, name }));
  }

  get all(): Iterable<CollectionRoute> {
    return this.#byId.values();
  }
}

/** Names have no line feed. */
const keyOf = ({ tenantId, name }: { readonly tenantId: string; readonly name: string }): string =>
  `${tenantId}\n${name}`;
