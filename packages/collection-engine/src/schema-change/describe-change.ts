import { isDeepStrictEqual } from 'node:util';
import type { FieldModel } from '../model/collection-model.js';
import type { CollectionIndex } from '../storage/collection-indexes.js';
import type { ChangePlan } from './change-plan.js';
import type { Gate } from './gates.js';
import type { PlannedChange } from './plan-change.js';

type DescribedStep = ChangePlan['steps'][number];

/** Says what a change does, in the order in which it is done. Without a step there is nothing to change. */
export function describeChange(change: PlannedChange): ChangePlan['steps'] {
  const { before, after, origins, bridge, gates, indexes, loosened, unused } = change;
  const fields = [...after.fields.values()];
  const isNew = (field: FieldModel): boolean => !origins.has(field.name);
  const steps = [
    ...(before.name === after.name ? [] : [about(`Rename the collection "${before.name}" to "${after.name}"`)]),
    ...[...change.renamedTargets].map(([former, name]) => about(`Refer to "${name}", which was named "${former}"`)),
    ...fields.filter(isNew).map((field) => step(`Add field "${field.name}" (${field.type})`, field)),
    ...fields.flatMap((field) => alter(field, origins.get(field.name))),
    ...bridge.filled.map((field) => step(`Fill "${field.name}" of the records without a value`, field)),
    ...gates
      .filter(isDescribed)
      .map(({ field, property }) => step(`Check "${property}" of "${field.name}" in all records`, field)),
    ...indexes.map((index) => about(`Build ${kindOf(index)}`)),
    ...loosened.indexes.map((index) => about(`Drop ${kindOf(index)}`)),
    ...loosened.gates.flatMap(({ field, property }) =>
      isKept(change, field) && property !== 'indexed'
        ? [step(`No longer require "${property}" of "${field.name}"`, field)]
        : [],
    ),
    ...removals(change),
    ...unused.map((index) => about(`Drop ${kindOf(index)}`)),
  ];
  const isSame = isDeepStrictEqual(change.before.definition, asStored(after.definition));
  return steps.length > 0 || isSame ? steps : [about('Change what is not stored with records')];
}

/** A property that is undefined is not stored. */
const asStored = (definition: object): unknown => JSON.parse(JSON.stringify(definition));

/** Texts that are too long for an index are a part of its build. */
const isDescribed = ({ property }: Gate): boolean => property !== 'indexed';

const about = (text: string): DescribedStep => ({ about: text, losesValues: false });
const step = (text: string, { name }: FieldModel): DescribedStep => ({ about: text, field: name, losesValues: false });

function alter(field: FieldModel, origin: FieldModel | undefined): DescribedStep[] {
  if (!origin) return [];
  return [
    ...(origin.name === field.name ? [] : [step(`Rename field "${origin.name}" to "${field.name}"`, field)]),
    ...(origin.type === field.type
      ? []
      : [step(`Change the type of "${field.name}" from ${origin.type} to ${field.type}`, field)]),
  ];
}

const isKept = ({ origins }: PlannedChange, field: FieldModel): boolean =>
  [...origins.values()].some(({ column }) => column === field.column);

/** Fields without a successor lose their values; a computed field has none. */
function removals({ before, after, origins }: PlannedChange): DescribedStep[] {
  const kept = new Set(
    [...origins].flatMap(([name, origin]) => {
      const isStored = after.fields.get(name)?.traits.column !== undefined;
      return isStored || origin.traits.column === undefined ? [origin.name] : [];
    }),
  );
  return [...before.fields.values()]
    .filter(({ name }) => !kept.has(name))
    .map(({ name, traits }) => ({
      about: traits.column === undefined ? `Remove field "${name}"` : `Remove field "${name}" with its values`,
      field: name,
      losesValues: traits.column !== undefined,
    }));
}

function kindOf({ isUnique, fields }: CollectionIndex): string {
  const names = fields.map((name) => `"${name}"`).join(', ');
  if (fields.length === 0) return 'the full-text index';
  return isUnique ? `the unique index over ${names}` : `the index over ${names}`;
}
