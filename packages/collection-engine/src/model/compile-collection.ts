import type { FieldDefinition } from '@drover/contracts';
import type { CollectionModel, FieldModel, StoredCollection } from './collection-model.js';
import { fieldTraits, type FieldTraits } from './field-traits.js';

/** Makes the model of a stored collection, whose definition has been checked when it was stored. */
export function compileCollection({ definition, ...stored }: StoredCollection): CollectionModel {
  const { api = {} } = definition;
  const on = (choice: boolean | undefined): boolean => choice ?? true;
  return {
    id: stored.id,
    tenantId: stored.tenantId,
    name: definition.name,
    version: stored.version,
    storageMode: definition.storageMode ?? 'PHYSICAL_TABLE',
    table: stored.table,
    fields: new Map(definition.fields.map((field) => [field.name, toField(field, stored.columns)])),
    uniqueSets: definition.uniqueSets ?? [],
    rules: (definition.validationRules ?? []).filter(({ active = true }) => active),
    displayField: definition.displayField,
    api: {
      list: on(api.list),
      get: on(api.get),
      create: on(api.create),
      update: on(api.update),
      delete: on(api.delete),
      clientIds: api.clientIds ?? false,
    },
    hasEvents: definition.events ?? true,
    hasHistory: definition.history ?? false,
    isSoftDelete: definition.softDelete ?? false,
    definition,
  };
}

function toField(definition: FieldDefinition, columns: StoredCollection['columns']): FieldModel {
  const { name, type } = definition;
  return {
    name,
    type,
    column: columns[name] ?? name,
    traits: traitsOf(definition),
    isRequired: definition.required ?? type === 'MASTER_DETAIL',
    isUnique: definition.unique ?? type === 'EXTERNAL_ID',
    isIndexed: definition.indexed ?? (definition.unique === true || isAlwaysIndexed.has(type)),
    definition,
  };
}

export const isAlwaysIndexed: ReadonlySet<string> = new Set(['LOOKUP', 'MASTER_DETAIL', 'EXTERNAL_ID', 'AUTO_NUMBER']);

/** A formula behaves like its result. */
function traitsOf({ type, formula }: FieldDefinition): FieldTraits {
  if (type !== 'FORMULA' || !formula) return fieldTraits[type];
  return { ...fieldTraits[formula.returns], column: undefined, isWritable: false };
}
