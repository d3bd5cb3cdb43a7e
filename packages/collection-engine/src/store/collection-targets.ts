import type { CollectionDefinition } from '@drover/contracts';

/** Returns the names of the collections that fields refer to. */
export function targetsOf({ fields }: CollectionDefinition): readonly string[] {
  const names = fields.flatMap(({ references, rollup }) =>
    [references?.collection ?? [], rollup?.collection ?? []].flat(),
  );
  return [...new Set(names)];
}
