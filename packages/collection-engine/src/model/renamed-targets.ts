import type { CollectionDefinition } from '@drover/contracts';

/** Names of collections that are renamed, by their former names. */
export type CollectionRenames = ReadonlyMap<string, string>;

/** Returns a definition with the new names of collections that it refers to; the same object if it refers to none of them. */
export function withRenamedTargets(definition: CollectionDefinition, renames: CollectionRenames): CollectionDefinition {
  const nameAfter = (target: string | undefined): string | undefined => renames.get(target ?? '');
  const isConcerned = definition.fields.some(
    ({ references, rollup }) => (nameAfter(references?.collection) ?? nameAfter(rollup?.collection)) !== undefined,
  );
  if (!isConcerned) return definition;
  const fields = definition.fields.map((field) => {
    const [target, child] = [nameAfter(field.references?.collection), nameAfter(field.rollup?.collection)];
    return {
      ...field,
      ...(field.references && target !== undefined && { references: { ...field.references, collection: target } }),
      ...(field.rollup && child !== undefined && { rollup: { ...field.rollup, collection: child } }),
    };
  });
  return { ...definition, fields };
}
