import type { CollectionDefinition } from '@drover/contracts';
import type { CollectionModel, FieldModel, StoredCollection } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { withRenamedTargets, type CollectionRenames } from '../model/renamed-targets.js';
import { chooseColumns } from '../storage/choose-names.js';
import { hasSameStorage } from './convert-value.js';

/** Both versions of a collection, and which field of the new one was which of the old one. */
export interface MatchedVersions {
  readonly before: CollectionModel;
  readonly after: CollectionModel;
  /** Field of the version before, by name in the new version; absent for new fields. */
  readonly origins: ReadonlyMap<string, FieldModel>;
  readonly columns: StoredCollection['columns'];
  /** The definition as it was given, with former names. */
  readonly requested: CollectionDefinition;
  /** Collections that fields refer to and that get another name together with this change. `before` has their new names. */
  readonly renamedTargets: CollectionRenames;
}

/**
 * Matches the fields of a definition with those of the version before and chooses columns. A field keeps its column if its type stores
 * values in the same way. `taken` holds the columns of all versions.
 */
export function matchFields(
  stored: StoredCollection,
  definition: CollectionDefinition,
  taken: Iterable<string>,
  renames: CollectionRenames,
): MatchedVersions {
  const before = compileCollection({ ...stored, definition: withRenamedTargets(stored.definition, renames) });
  const targets = new Set(
    stored.definition.fields.flatMap(({ references, rollup }) => [references?.collection, rollup?.collection]),
  );
  const renamedTargets = new Map([...renames].filter(([former]) => targets.has(former)));
  const unplaced = compileCollection({ ...stored, definition, columns: {} });
  const origins = originsOf(definition, before);
  const kept = [...unplaced.fields.values()].flatMap((field) => {
    const origin = origins.get(field.name);
    return origin && hasSameStorage(before, origin, field) ? [[field.name, origin.column]] : [];
  });
  const columns = chooseColumns(definition, Object.fromEntries(kept), taken);
  const after = compileCollection({
    ...stored,
    version: stored.version + 1,
    definition: withoutFormerNames(definition),
    columns,
  });
  return { before, after, origins, columns, requested: definition, renamedTargets };
}

/** A former name is that in the version before, so it means nothing in the stored definition. */
function withoutFormerNames(definition: CollectionDefinition): CollectionDefinition {
  const fields = definition.fields.map((field) => {
    const stored = { ...field };
    delete stored.formerName;
    return stored;
  });
  const stored = { ...definition, fields };
  delete stored.formerName;
  return stored;
}

/**
 * A former name counts if the version before has such a field, and not both names are in both versions: a file that renamed a field once
 * may be applied again. A field that was renamed is not also the origin of a new field with its old name.
 */
function originsOf({ fields }: CollectionDefinition, before: CollectionModel): ReadonlyMap<string, FieldModel> {
  const names = new Set(fields.map(({ name }) => name));
  const renamed = fields.flatMap(({ name, formerName }) => {
    const former = formerName === undefined ? undefined : before.fields.get(formerName);
    return !former || (before.fields.has(name) && names.has(former.name)) ? [] : [[name, former] as const];
  });
  const taken = new Set(renamed.map(([, { name }]) => name));
  const origins = new Map(renamed);
  for (const { name } of fields) {
    const same = before.fields.get(name);
    if (same && !origins.has(name) && !taken.has(name)) origins.set(name, same);
  }
  return origins;
}
