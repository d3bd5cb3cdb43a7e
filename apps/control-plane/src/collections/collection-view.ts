import type { CatalogedCollection, CollectionChange, CollectionVersion } from '@drover/collection-engine';
import type { CollectionChangeView, CollectionVersionView, CollectionView } from '@drover/contracts';

export function toCollectionView(collection: CatalogedCollection, running?: CollectionChange): CollectionView {
  const { id, version, definition, createdAt, createdBy, updatedAt, updatedBy } = collection;
  return {
    id,
    name: definition.name,
    version,
    definition,
    createdAt: createdAt.toISOString(),
    createdBy,
    updatedAt: updatedAt.toISOString(),
    updatedBy,
    ...(running && { change: toCollectionChangeView(running) }),
  };
}

export function toCollectionChangeView(change: CollectionChange): CollectionChangeView {
  const { id, state, fromVersion, step, recordsDone, recordsTotal, refusals, createdAt, createdBy, endedAt } = change;
  return {
    id,
    state,
    fromVersion,
    step,
    recordsDone,
    ...(recordsTotal !== undefined && { recordsTotal }),
    refusals: [...refusals],
    createdAt: createdAt.toISOString(),
    createdBy,
    ...(endedAt && { endedAt: endedAt.toISOString() }),
  };
}

export function toCollectionVersionView({ version, createdAt, createdBy }: CollectionVersion): CollectionVersionView {
  return { version, createdAt: createdAt.toISOString(), createdBy };
}

/** Returns one page of collections that are ordered by the bytes of their names, as the store orders them. */
export function pageOfCollections(
  collections: readonly CatalogedCollection[],
  limit: number,
  after: string | undefined,
): { readonly collections: CollectionView[]; readonly next?: string } {
  const isAfter = ({ definition }: CatalogedCollection): boolean =>
    after === undefined || Buffer.compare(Buffer.from(definition.name), Buffer.from(after)) > 0;
  const rest = collections.filter(isAfter);
  const page = rest.slice(0, limit).map((collection) => toCollectionView(collection));
  const last = page.at(-1);
  return { collections: page, ...(rest.length > limit && last && { next: last.name }) };
}
