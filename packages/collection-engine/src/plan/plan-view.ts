import type { RecordQuery } from '../parse/parse-query.js';
import { excerpt, queryProblem, suggestion } from '../parse/query-problem.js';
import { operandOf, systemAttributeNames } from './operand.js';
import type { PlannedCollection, Planning, Relation } from './planning.js';

/** A relation whose records the response includes, and those that these lead to. */
export interface IncludeNode {
  readonly relation: Relation;
  readonly children: readonly IncludeNode[];
}

/** Resolves the paths of `include` to a tree. Throws INVALID_QUERY for unknown relations. */
export async function planIncludes(
  planning: Planning,
  collection: PlannedCollection,
  paths: RecordQuery['include'],
): Promise<IncludeNode[]> {
  const byName = new Map<string, (readonly string[])[]>();
  for (const [name = '', ...rest] of paths) {
    const deeper = byName.get(name) ?? [];
    if (rest.length > 0) deeper.push(rest);
    byName.set(name, deeper);
  }
  const nodes: IncludeNode[] = [];
  for (const [name, deeper] of byName) {
    const relation = await planning.relation(collection, name);
    if (!relation)
      throw queryProblem(
        'include',
        'UNKNOWN_RELATION',
        `The collection "${collection.model.name}" has no relation "${excerpt(name)}".${suggestion(name, await planning.relationNames(collection))}`,
      );
    nodes.push({ relation, children: await planIncludes(planning, relation.target, deeper) });
  }
  return nodes;
}

/** Names that the response shows, by collection; a collection that is absent shows everything. */
export type ShownFields = ReadonlyMap<string, ReadonlySet<string>>;

/** Resolves `fields`. Throws INVALID_QUERY for types that are not in the response and for unknown names. */
export async function planFields(
  planning: Planning,
  collection: PlannedCollection,
  includes: readonly IncludeNode[],
  fields: RecordQuery['fields'],
): Promise<ShownFields> {
  const shown = new Map<string, ReadonlySet<string>>();
  if (fields.size === 0) return shown;
  const collections = new Map([[collection.model.name, collection]]);
  const add = ({ relation, children }: IncludeNode): void => {
    collections.set(relation.target.model.name, relation.target);
    children.forEach(add);
  };
  includes.forEach(add);
  for (const [type, names] of fields) {
    const parameter = type === '' ? 'fields' : `fields[${excerpt(type)}]`;
    const target = collections.get(type === '' ? collection.model.name : type);
    if (!target)
      throw queryProblem(
        parameter,
        'UNKNOWN_FIELD',
        `The response has no records of the type "${excerpt(type)}".${suggestion(type, [...collections.keys()])}`,
      );
    const relations = await planning.relationNames(target);
    const unknown = names.find((name) => !operandOf(target, name) && !relations.includes(name));
    if (unknown !== undefined)
      throw queryProblem(
        parameter,
        'UNKNOWN_FIELD',
        `The collection "${target.model.name}" has no field "${excerpt(unknown)}".${suggestion(unknown, [...target.model.fields.keys(), ...systemAttributeNames, ...relations])}`,
      );
    shown.set(target.model.name, new Set(names));
  }
  return shown;
}
