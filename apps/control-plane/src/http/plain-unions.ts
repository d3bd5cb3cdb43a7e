/** A JSON schema, or a part of one. */
type Schema = Readonly<Record<string, unknown>>;

const plainTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/**
 * Replaces unions of constants and plain types by their types, for a serializer: it writes values of one type alike, whichever of the
 * constants they are. Otherwise it compiles a validator for each constant at the first answer, 26 for the types of fields: the first
 * definition of a collection took four times the CPU time.
 */
export function withPlainUnions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withPlainUnions);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { anyOf, ...others } = schema as Schema;
  const types = Array.isArray(anyOf) && others['type'] === undefined ? plainTypesOf(anyOf) : undefined;
  if (types) return { ...others, type: types.length === 1 ? types[0] : types };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withPlainUnions(value)]));
}

/** Returns the types of the branches; undefined if one is more than a constant or a plain type. */
function plainTypesOf(branches: readonly Schema[]): readonly string[] | undefined {
  const types = new Set<string>();
  for (const { type, enum: values, ...others } of branches) {
    if (typeof type !== 'string' || !plainTypes.has(type) || values !== undefined || 'anyOf' in others)
      return undefined;
    types.add(type);
  }
  return [...types];
}
