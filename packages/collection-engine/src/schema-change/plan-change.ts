import type { CollectionDefinition } from '@drover/contracts';
import type { CollectionModel, FieldModel, StoredCollection } from '../model/collection-model.js';
import type { CollectionRenames } from '../model/renamed-targets.js';
import { identifier } from '../sql/sql.js';
import { indexesOf, type CollectionIndex } from '../storage/collection-indexes.js';
import type { Bridge, RetypedField } from './bridge.js';
import type { ChangeRefusal } from './change-plan.js';
import { isAlwaysConvertible } from './convert-value.js';
import { gatesOf, retypeGate, type Gate } from './gates.js';
import { matchFields, type MatchedVersions } from './match-fields.js';

/** Everything that a change does, as data. It follows from the two definitions, so a restarted runner makes the same plan again. */
export interface PlannedChange extends MatchedVersions {
  /** Fields with a column that the table does not have yet. */
  readonly added: readonly FieldModel[];
  /** Fields that are removed, and those that a field of another type replaces: their columns are dropped later. */
  readonly dropped: readonly FieldModel[];
  readonly bridge: Bridge;
  /** Conditions on values before they are converted. */
  readonly retypeGates: readonly Gate[];
  /** Conditions of the new version that the one before did not have. */
  readonly gates: readonly Gate[];
  readonly indexes: readonly CollectionIndex[];
  /** Constraints of the version before that the new one does not have: they go when all workers know the new one. */
  readonly loosened: { readonly indexes: readonly CollectionIndex[]; readonly gates: readonly Gate[] };
  /** Indexes that only the version before uses; dropped with the columns. */
  readonly unused: readonly CollectionIndex[];
  /** Reasons that hold with any records. */
  readonly refusals: readonly ChangeRefusal[];
}

/**
 * Compares a collection with a new definition. Pure: what stands in the way among the records is counted later. `renames` are the
 * collections that get another name together with this change.
 */
export function planChange(
  stored: StoredCollection,
  definition: CollectionDefinition,
  taken: Iterable<string>,
  renames: CollectionRenames = new Map(),
): PlannedChange {
  const versions = matchFields(stored, definition, taken, renames);
  const { before, after, origins } = versions;
  const retyped = retypedFields(versions);
  const columnsBefore = storedColumns(before);
  const columnsAfter = storedColumns(after);
  const gates = difference(gatesOf(after), gatesOf(before));
  const unused = difference(indexesOf(before), indexesOf(after));
  return {
    ...versions,
    added: [...columnsAfter.values()].filter(({ column }) => !columnsBefore.has(column)),
    dropped: [...columnsBefore.values()].filter(({ column }) => !columnsAfter.has(column)),
    bridge: { collection: after, retyped: movedFields(retyped), filled: filledFields(after, origins) },
    retypeGates: retyped.filter(mayStandInTheWay).map((field) => retypeGate(after, field, identifier(after.table))),
    gates,
    indexes: difference(indexesOf(after), indexesOf(before)),
    loosened: {
      indexes: unused.filter(({ isUnique }) => isUnique),
      gates: difference(gatesOf(before), gatesOf(after)),
    },
    unused: unused.filter(({ isUnique }) => !isUnique),
    refusals: staticRefusals(before, after, definition.formerName),
  };
}

/** Whether nothing is left to do but to store the new definition. */
export function isMetadataOnly(change: PlannedChange): boolean {
  const { added, bridge, retypeGates, gates, indexes, loosened } = change;
  const parts = [added, bridge.filled, retypeGates, gates, indexes, loosened.indexes, loosened.gates];
  return parts.every((part) => part.length === 0);
}

/** Whether the table has columns, indexes, constraints or triggers that the new version does not need. */
export function needsCleanup(change: PlannedChange): boolean {
  const { dropped, unused } = change;
  return dropped.length > 0 || unused.length > 0 || !isMetadataOnly(change);
}

/** Stored fields of another type than before; also those that keep their column. */
function retypedFields({ after, origins }: MatchedVersions): readonly RetypedField[] {
  return [...after.fields.values()].flatMap((field) => {
    const origin = origins.get(field.name);
    if (origin?.traits.column === undefined || field.traits.column === undefined) return [];
    const isSame = origin.type === field.type && targetOf(origin) === targetOf(field);
    return isSame ? [] : [{ before: origin, after: field }];
  });
}

const movedFields = (retyped: readonly RetypedField[]): readonly RetypedField[] =>
  retyped.filter(({ before, after }) => before.column !== after.column);

const mayStandInTheWay = ({ before, after }: RetypedField): boolean =>
  !isAlwaysConvertible(before, after) || targetOf(before) !== targetOf(after);

const targetOf = ({ definition }: FieldModel): string | undefined => definition.references?.collection;

/** Records get the default only where they must have a value: a default is meant for new records. */
function filledFields(after: CollectionModel, origins: ReadonlyMap<string, FieldModel>): readonly FieldModel[] {
  return [...after.fields.values()].filter((field) => {
    const origin = origins.get(field.name);
    if (field.type === 'AUTO_NUMBER') return origin?.type !== 'AUTO_NUMBER';
    const { default: constantDefault = null, defaultFormula } = field.definition;
    const hasDefault = constantDefault !== null || defaultFormula !== undefined;
    return field.traits.column !== undefined && field.isRequired && hasDefault && origin?.isRequired !== true;
  });
}

function storedColumns({ fields }: CollectionModel): ReadonlyMap<string, FieldModel> {
  const stored = [...fields.values()].filter(({ traits }) => traits.column !== undefined);
  return new Map(stored.map((field) => [field.column, field]));
}

function difference<T extends { readonly name: string }>(all: readonly T[], without: readonly T[]): readonly T[] {
  const names = new Set(without.map(({ name }) => name));
  return all.filter(({ name }) => !names.has(name));
}

function staticRefusals(
  before: CollectionModel,
  after: CollectionModel,
  formerName: string | undefined,
): readonly ChangeRefusal[] {
  const refusals: ChangeRefusal[] = [];
  if (after.name !== before.name && formerName !== before.name) {
    refusals.push({
      path: '/name',
      message: `The definition is named "${after.name}", and the collection "${before.name}". Set "formerName" to "${before.name}" to rename it.`,
    });
  }
  if (after.storageMode !== before.storageMode) {
    refusals.push({
      path: '/storageMode',
      message: `The storage mode of a collection cannot be changed from ${before.storageMode} to ${after.storageMode}. Create another collection and import the records.`,
    });
  }
  return refusals;
}
