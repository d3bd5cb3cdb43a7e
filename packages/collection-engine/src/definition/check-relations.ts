import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { nearestName } from '@drover/service-kit';
import type { DefinitionProblem } from './shape-problems.js';

const maxMasters = 2;

export type Collections = ReadonlyMap<string, CollectionDefinition>;

export const isRelation = ({ type }: FieldDefinition): boolean => type === 'LOOKUP' || type === 'MASTER_DETAIL';

/** Says that a name is unknown, with a similar one. */
export function unknownName(what: string, name: string, names: Iterable<string>): string {
  const near = nearestName(name, [...names]);
  return `${what} "${name}" does not exist.${near === undefined ? '' : ` Did you mean "${near}"?`}`;
}

/** Checks the relations of a collection. `collections` are all of the tenant, with the one that is checked. */
export function checkRelations(definition: CollectionDefinition, collections: Collections): DefinitionProblem[] {
  const masters = definition.fields.filter(({ type }) => type === 'MASTER_DETAIL');
  return [
    ...definition.fields.flatMap((field, index) =>
      field.references ? checkTarget(definition, field, collections, `/fields/${index}/references`) : [],
    ),
    ...(masters.length > maxMasters
      ? [
          {
            pointer: '/fields',
            message: `${masters.length} fields are MASTER_DETAIL; at most ${maxMasters} can be. Make the others LOOKUP.`,
          },
        ]
      : []),
    ...checkReverseNames(definition, collections),
  ];
}

function checkTarget(
  definition: CollectionDefinition,
  { type, references }: FieldDefinition,
  collections: Collections,
  pointer: string,
): DefinitionProblem[] {
  const target = references?.collection ?? '';
  if (!collections.has(target)) {
    const message = `${unknownName('Collection', target, collections.keys())} Create it first.`;
    return [{ pointer: `${pointer}/collection`, message }];
  }
  if (type !== 'MASTER_DETAIL') return [];
  const ring = ringOf(definition.name, target, collections);
  if (!ring) return [];
  const path = [...ring, definition.name].join(' → ');
  const message = `Records would be details of themselves: ${definition.name} → ${path}. Use a LOOKUP.`;
  return [{ pointer: `${pointer}/collection`, message }];
}

/** Returns the collections between `target` and `name` if `name` is a master of `target`, directly or not. */
function ringOf(name: string, target: string, collections: Collections): readonly string[] | undefined {
  const from = new Map<string, readonly string[]>([[target, [target]]]);
  for (const [current, path] of from) {
    if (current === name) return path.slice(0, -1);
    for (const { type, references } of collections.get(current)?.fields ?? []) {
      if (type !== 'MASTER_DETAIL' || !references || from.has(references.collection)) continue;
      from.set(references.collection, [...path, references.collection]);
    }
  }
  return undefined;
}

/** A reverse relation is named like a field of its target: no two of them, and no field, have the same name. */
function checkReverseNames(definition: CollectionDefinition, collections: Collections): DefinitionProblem[] {
  const own = reverseRelations(definition);
  const others = [...collections.values()].filter(({ name }) => name !== definition.name).flatMap(reverseRelations);
  const clashes = own.flatMap((relation, position) => {
    const target = collections.get(relation.target);
    const isField = target?.fields.some(({ name }) => name === relation.name) ?? false;
    const isTaken = [...others, ...own.slice(0, position)].some(
      ({ target: one, name }) => one === relation.target && name === relation.name,
    );
    if (!isField && !isTaken) return [];
    const what = isField ? 'a field' : 'another reverse relation';
    const message = `Collection "${relation.target}" already has ${what} "${relation.name}". Set "as" to another name.`;
    return [{ pointer: `/fields/${relation.index}/references/as`, message }];
  });
  const hidden = definition.fields.flatMap(({ name }, index) => {
    const reverse = others.find((relation) => relation.target === definition.name && relation.name === name);
    if (!reverse) return [];
    const message = `"${name}" is the reverse relation of field "${reverse.field}" of collection "${reverse.source}". Choose another name.`;
    return [{ pointer: `/fields/${index}/name`, message }];
  });
  return [...clashes, ...hidden];
}

function reverseRelations({ name: source, fields }: CollectionDefinition) {
  return fields.flatMap(({ name: field, references }, index) =>
    references ? [{ source, field, index, target: references.collection, name: references.as ?? source }] : [],
  );
}
