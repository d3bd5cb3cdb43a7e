import type { CollectionModel, FieldModel, FindReferrers } from '../model/collection-model.js';

/** A field of another collection that references a collection: what happens to its records when a referenced one is deleted. */
export interface ReferringField {
  readonly collection: CollectionModel;
  readonly field: FieldModel;
  /** Details are deleted with their master; an optional lookup is set to null; a required one prevents the deletion. */
  readonly effect: 'delete' | 'clear' | 'refuse';
}

/** The fields that reference a collection, by its name: for the collection itself and for all whose records are deleted with it. */
export type Cascade = ReadonlyMap<string, readonly ReferringField[]>;

/** Finds everything that a deletion of records of a collection can reach. */
export async function findCascade(collection: CollectionModel, referrers: FindReferrers): Promise<Cascade> {
  const cascade = new Map<string, readonly ReferringField[]>();
  const open = [collection.name];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (cascade.has(name)) continue;
    const fields = referringFields(await referrers(collection.tenantId, name), name);
    cascade.set(name, fields);
    open.push(...fields.filter(({ effect }) => effect === 'delete').map((each) => each.collection.name));
  }
  return cascade;
}

function referringFields(collections: readonly CollectionModel[], name: string): ReferringField[] {
  return collections.flatMap((collection) =>
    [...collection.fields.values()]
      .filter(({ traits, definition }) => traits.kind === 'reference' && definition.references?.collection === name)
      .map((field) => ({ collection, field, effect: effectOf(field) })),
  );
}

function effectOf({ type, isRequired }: FieldModel): ReferringField['effect'] {
  if (type === 'MASTER_DETAIL') return 'delete';
  return isRequired ? 'refuse' : 'clear';
}
