/** The parts of a JSON schema that are read here. */
interface BodySchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly BodySchema[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly patternProperties?: Readonly<Record<string, BodySchema>>;
  readonly items?: BodySchema;
}

/**
 * Removes properties that are null and that the schema declares as something else, in place. Clients in Java and .NET send null for
 * fields that are not set. Values of unknown type, such as the input of a function, stay as they are.
 */
export function dropUnsetFields(value: unknown, jsonSchema: object): void {
  if (typeof value !== 'object' || value === null) return;
  const schema: BodySchema = jsonSchema;
  const { anyOf, items } = schema;
  if (anyOf) for (const one of anyOf) dropUnsetFields(value, one);
  if (Array.isArray(value)) {
    if (items) for (const item of value) dropUnsetFields(item, items);
    return;
  }
  const object = value as Record<string, unknown>; // neither null nor an array
  for (const name of Object.keys(object)) {
    const property = schemaOf(schema, name);
    if (!property) continue;
    if (object[name] !== null) dropUnsetFields(object[name], property);
    else if (!acceptsNull(property)) delete object[name];
  }
}

function schemaOf({ properties, patternProperties }: BodySchema, name: string): BodySchema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  return patternProperties && Object.values(patternProperties)[0];
}

/** A schema without a type accepts any value. */
function acceptsNull({ type, anyOf }: BodySchema): boolean {
  if (anyOf) return anyOf.some(acceptsNull);
  return type === undefined || type === 'null' || type.includes('null');
}
