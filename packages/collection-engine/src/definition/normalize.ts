import { fieldTypes, type CollectionDefinition } from '@drover/contracts';

/** Values of the picklists of the tenant, by name. */
export type PicklistValuesByName = ReadonlyMap<string, readonly string[]>;

type JsonObject = Readonly<Record<string, unknown>>;

const typeAliases: ReadonlyMap<string, string> = new Map([
  ...fieldTypes.map((type) => [type, type] as const),
  ['NUMBER', 'DOUBLE'],
  ['FLOAT', 'DOUBLE'],
  ['INT', 'INTEGER'],
  ['BIGINT', 'LONG'],
  ['BOOL', 'BOOLEAN'],
  ['TIMESTAMP', 'DATETIME'],
  ['OBJECT', 'JSON'],
  ['REFERENCE', 'LOOKUP'],
  ['ROLLUP', 'ROLLUP_SUMMARY'],
]);

/** Other names of properties, which clients of the former platform send. */
const fieldAliases: Readonly<Record<string, string>> = { defaultValue: 'default' };
const ruleAliases: Readonly<Record<string, string>> = { errorConditionFormula: 'errorCondition' };
const collectionAliases: Readonly<Record<string, string>> = { displayFieldName: 'displayField' };

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Writes a definition in the one form that is stored: types in upper case, aliases replaced, defaults of types filled in. What is not
 * of the expected shape stays as it is, for the check of the shape to find. `before` is the version before, `names` are the collections of
 * the tenant.
 */
export function normalizeDefinition(
  input: unknown,
  before: CollectionDefinition | undefined,
  names: { readonly has: (name: string) => boolean },
  picklists: PicklistValuesByName = new Map(),
): unknown {
  if (!isObject(input)) return input;
  const fieldsBefore = before && new Set(before.fields.map(({ name }) => name));
  const { fields, validationRules, storageMode, formerName, ...others } = renamed(input, collectionAliases);
  return {
    ...others,
    ...(isCollectionRenamed(others['name'], formerName, before, names) && { formerName }),
    storageMode: typeof storageMode === 'string' ? normalizeMode(storageMode) : (storageMode ?? 'PHYSICAL_TABLE'),
    fields: Array.isArray(fields)
      ? fields.map((field) => normalizeField(field, fieldsBefore, picklists))
      : (fields ?? []),
    ...(validationRules !== undefined && {
      validationRules: Array.isArray(validationRules)
        ? validationRules.map((rule) => (isObject(rule) ? renamed(rule, ruleAliases) : rule))
        : validationRules,
    }),
  };
}

function normalizeMode(mode: string): string {
  const upper = mode.toUpperCase().replaceAll('-', '_');
  return upper === 'PHYSICAL_TABLES' ? 'PHYSICAL_TABLE' : upper;
}

function normalizeField(
  input: unknown,
  fieldsBefore: ReadonlySet<string> | undefined,
  picklists: PicklistValuesByName,
): unknown {
  if (!isObject(input)) return input;
  const { referenceTarget, formerName, ...field } = renamed(input, fieldAliases);
  const type = typeof field['type'] === 'string' ? normalizeType(field['type']) : field['type'];
  const isPicklist = type === 'PICKLIST' || type === 'MULTI_PICKLIST';
  const values = isPicklist && typeof field['picklist'] === 'string' ? picklists.get(field['picklist']) : undefined;
  const isRenamed = formerName !== undefined && !isApplied(field['name'], formerName, fieldsBefore);
  return {
    ...field,
    ...('type' in field && { type }),
    ...(typeof referenceTarget === 'string' && { references: { collection: referenceTarget } }),
    ...(type === 'MASTER_DETAIL' && { required: field['required'] ?? true }),
    ...(type === 'EXTERNAL_ID' && { unique: field['unique'] ?? true }),
    ...(isRenamed && { formerName }),
    ...(values && { values: [...values] }),
  };
}

/** A file that renames a collection can be applied again, and to a platform that has not had the collection. */
function isCollectionRenamed(
  name: unknown,
  formerName: unknown,
  before: CollectionDefinition | undefined,
  names: { readonly has: (name: string) => boolean },
): boolean {
  if (typeof formerName !== 'string') return formerName !== undefined; // its shape is reported
  return formerName !== name && before !== undefined && (before.name === formerName || names.has(formerName));
}

/** A file that renames a field can be applied again, and to a platform that has not had the field. */
function isApplied(name: unknown, formerName: unknown, fieldsBefore: ReadonlySet<string> | undefined): boolean {
  return (
    fieldsBefore === undefined ||
    name === formerName ||
    (typeof name === 'string' &&
      fieldsBefore.has(name) &&
      !(typeof formerName === 'string' && fieldsBefore.has(formerName)))
  );
}

function normalizeType(type: string): string {
  const upper = type.toUpperCase().replaceAll(/[- ]/g, '_');
  return typeAliases.get(upper) ?? type;
}

/** An alias beside the name itself stays, and is reported as unknown. */
function renamed(object: JsonObject, aliases: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
      return [alias !== undefined && !Object.hasOwn(object, alias) ? alias : name, value];
    }),
  );
}
