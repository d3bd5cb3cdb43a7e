import type { CollectionDefinition, FieldDefinition, FieldType, StorageMode, ValidationRule } from '@drover/contracts';
import type { FieldTraits } from './field-traits.js';

/** A version of a collection with what the platform decided about its storage. */
export interface StoredCollection {
  readonly id: string;
  readonly tenantId: string;
  /** Of the definition, from 1. */
  readonly version: number;
  readonly definition: CollectionDefinition;
  /** Name of its table, or of its partition of `jsonb_records`, in the schema `drover_records`. */
  readonly table: string;
  /**
   * Column, or key of the JSONB document, by name of the field. It is chosen once: a renamed field keeps its column, and a new
   * field never gets the column of another, so that workers with the version before and after read and write the same values.
   */
  readonly columns: Readonly<Record<string, string>>;
}

/** A collection as the engine uses it: checked, with all defaults, and names resolved. */
export interface CollectionModel {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly version: number;
  readonly storageMode: StorageMode;
  readonly table: string;
  /** In the order of the definition. */
  readonly fields: ReadonlyMap<string, FieldModel>;
  readonly uniqueSets: readonly (readonly string[])[];
  readonly rules: readonly ValidationRule[];
  readonly displayField: string | undefined;
  readonly api: Readonly<Record<'list' | 'get' | 'create' | 'update' | 'delete' | 'clientIds', boolean>>;
  readonly hasEvents: boolean;
  readonly hasHistory: boolean;
  readonly isSoftDelete: boolean;
  readonly definition: CollectionDefinition;
}

export interface FieldModel {
  readonly name: string;
  readonly type: FieldType;
  readonly column: string;
  readonly traits: FieldTraits;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  readonly definition: FieldDefinition;
}

/** Attributes that every record has beside its fields, by the column that holds them. Clients cannot set them. */
export const systemColumns = {
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  createdBy: 'created_by',
  updatedBy: 'updated_by',
  deletedAt: 'deleted_at',
} as const;

/** Names that no field may have. */
export const reservedFieldNames: ReadonlySet<string> = new Set([
  'id',
  'type',
  'version',
  ...Object.keys(systemColumns),
]);

/** Columns of every table, of records or of PostgreSQL itself; a field gets another column if its name is one of these. */
export const reservedColumns: ReadonlySet<string> = new Set([
  'tenant_id',
  'collection_id',
  'id',
  'version',
  'data',
  ...Object.values(systemColumns),
  'tableoid',
  'ctid',
  'xmin',
  'xmax',
  'cmin',
  'cmax',
]);

/** Finds the current version of a collection; rejects with COLLECTION_UNKNOWN, which suggests a similar name. */
export type FindCollection = (tenantId: string, name: string) => Promise<CollectionModel>;

/** Finds the collections of a tenant that have a field which references the collection of that name, in the order of their names. */
export type FindReferrers = (tenantId: string, name: string) => Promise<readonly CollectionModel[]>;
