import { withRenamedTargets } from '@drover/collection-engine';
import type { CollectionDefinition } from '@drover/contracts';
import { nearestName } from '@drover/service-kit';
import { fieldUnknown } from './errors.js';

/** A new definition, before it is checked. */
export interface EditedDefinition {
  readonly input: unknown;
  /** Where the body of the request stands in it, as a JSON pointer; the whole of it unless given. */
  readonly bodyAt?: string;
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A definition without a name gets that of the path; another name renames the collection. */
export function replaceDefinition(name: string, body: unknown): EditedDefinition {
  return { input: isObject(body) ? continued(name, { name, ...body }) : body };
}

/** Replaces the properties that are given; null removes one. Another name renames the collection, also where its fields refer to it. */
export function patchDefinition(before: CollectionDefinition, body: unknown): EditedDefinition {
  if (!isObject(body)) return { input: body };
  const { name = before.name } = body;
  const renames = new Map(typeof name === 'string' && name !== before.name ? [[before.name, name]] : []);
  const merged = Object.entries({ ...withRenamedTargets(before, renames), ...body }).filter(
    ([, value]) => value !== null,
  );
  return { input: continued(before.name, Object.fromEntries(merged)) };
}

/** The path says which collection is changed, whatever former name the definition has. */
const continued = (name: string, definition: JsonObject): JsonObject =>
  definition['name'] === name ? definition : { ...definition, formerName: name };

export function withField(before: CollectionDefinition, body: unknown): EditedDefinition {
  return { input: { ...before, fields: [...before.fields, body] }, bodyAt: `/fields/${before.fields.length}` };
}

/** Another name renames the field, also where sets and indexes name it. Formulas and rules are text of the user. */
export function withChangedField(before: CollectionDefinition, field: string, body: unknown): EditedDefinition {
  const position = positionOf(before, field);
  const { name = field } = isObject(body) ? body : {};
  const fields: unknown[] = [...before.fields];
  fields[position] = isObject(body) ? { ...body, name, ...(name !== field && { formerName: field }) } : body;
  const bodyAt = `/fields/${position}`;
  if (typeof name !== 'string' || name === field) return { input: { ...before, fields }, bodyAt };
  const rename = (one: string): string => (one.replace(/^-/, '') === field ? one.replace(field, name) : one);
  const { uniqueSets, indexes, displayField } = before;
  const input = {
    ...before,
    fields,
    ...(uniqueSets && { uniqueSets: uniqueSets.map((names) => names.map(rename)) }),
    ...(indexes && { indexes: indexes.map((names) => names.map(rename)) }),
    ...(displayField !== undefined && { displayField: rename(displayField) }),
  };
  return { input, bodyAt };
}

export function withoutField(before: CollectionDefinition, field: string): EditedDefinition {
  return { input: { ...before, fields: before.fields.toSpliced(positionOf(before, field), 1) } };
}

/** Throws COLLECTION_FIELD_UNKNOWN. */
function positionOf({ name, fields }: CollectionDefinition, field: string): number {
  const names = fields.map((one) => one.name);
  const position = names.indexOf(field);
  if (position === -1) throw fieldUnknown({ collection: name, field, similar: nearestName(field, names) });
  return position;
}
