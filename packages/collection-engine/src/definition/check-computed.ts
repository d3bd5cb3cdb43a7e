import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { compileCondition, compileDefault, compileFormulaField } from '../formula/compile-formula.js';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { fieldCodec } from '../values/field-codec.js';
import { ValueProblem } from '../values/value-problem.js';
import { isRelation, unknownName, type Collections } from './check-relations.js';
import { pointerPart, type DefinitionProblem } from './shape-problems.js';

type Rollup = NonNullable<FieldDefinition['rollup']>;

/** Makes the model of a definition that is not stored yet. */
export type ToModel = (definition: CollectionDefinition) => CollectionModel;

/** Checks formulas, conditions of rules and rollups. */
export function checkComputed(model: CollectionModel, collections: Collections, toModel: ToModel): DefinitionProblem[] {
  const fields = model.definition.fields.map((field) => model.fields.get(field.name));
  return [
    ...fields.flatMap((field, index) => (field?.definition.formula ? checkFormula(model, field, index) : [])),
    ...fields.flatMap((field, index) => (field ? checkDefaultFormula(model, field, index) : [])),
    ...checkRules(model),
    ...fields.flatMap((field, index) =>
      field?.definition.rollup
        ? checkRollup(field.definition.rollup, model.name, collections, toModel).map(({ pointer, message }) => ({
            pointer: `/fields/${index}/rollup${pointer}`,
            message,
          }))
        : [],
    ),
  ];
}

function checkFormula(model: CollectionModel, field: FieldModel, index: number): DefinitionProblem[] {
  if (field.type !== 'FORMULA') return [];
  const compiled = compileFormulaField(model, field);
  return 'problem' in compiled
    ? [{ pointer: `/fields/${index}/formula/expression`, message: `${compiled.problem}.` }]
    : [];
}

function checkDefaultFormula(model: CollectionModel, field: FieldModel, index: number): DefinitionProblem[] {
  const { definition, type, traits } = field;
  if (definition.defaultFormula === undefined || !traits.isWritable) return [];
  const pointer = `/fields/${index}/defaultFormula`;
  if (type === 'ENCRYPTED' || traits.kind === 'reference' || traits.kind === 'json' || traits.kind === 'list') {
    return [{ pointer, message: `Fields of type ${type} have no default by formula. Remove it.` }];
  }
  if (definition.default !== undefined) return [{ pointer, message: 'Give either "default", or "defaultFormula".' }];
  const compiled = compileDefault(model, field);
  return 'problem' in compiled ? [{ pointer, message: `${compiled.problem}.` }] : [];
}

function checkRules({ definition, ...model }: CollectionModel): DefinitionProblem[] {
  return (definition.validationRules ?? []).flatMap(({ errorCondition }, index) => {
    const compiled = compileCondition({ definition, ...model }, errorCondition);
    if (!('problem' in compiled)) return [];
    return [{ pointer: `/validationRules/${index}/errorCondition`, message: `${compiled.problem}.` }];
  });
}

/** Checks a rollup of the collection `parent`; pointers are relative to it. */
function checkRollup(rollup: Rollup, parent: string, collections: Collections, toModel: ToModel): DefinitionProblem[] {
  const definition = collections.get(rollup.collection);
  if (!definition) {
    return [{ pointer: '/collection', message: unknownName('Collection', rollup.collection, collections.keys()) }];
  }
  const child = toModel(definition);
  const via = child.fields.get(rollup.via);
  const problems: DefinitionProblem[] = [];
  if (!via || !isRelation(via.definition) || via.definition.references?.collection !== parent) {
    const relations = definition.fields.filter((field) => field.references?.collection === parent);
    const names = relations.map(({ name }) => `"${name}"`).join(', ') || 'none';
    const message = `"${rollup.via}" is no relation from "${child.name}" to "${parent}". Its relations there: ${names}.`;
    problems.push({ pointer: '/via', message });
  }
  problems.push(...checkRolledUp(rollup, child));
  for (const [name, wanted] of Object.entries(rollup.where ?? {})) {
    const message = wrongValue(child, name, wanted);
    if (message !== undefined) problems.push({ pointer: `/where/${pointerPart(name)}`, message });
  }
  return problems;
}

function checkRolledUp({ function: name, field }: Rollup, child: CollectionModel): DefinitionProblem[] {
  if (name === 'COUNT') {
    return field === undefined ? [] : [{ pointer: '/field', message: 'COUNT counts records. Remove "field".' }];
  }
  const summed = child.fields.get(field ?? '');
  const isNumber = summed?.traits.kind === 'integer' || summed?.traits.kind === 'number';
  if (isNumber && summed?.traits.column !== undefined) return [];
  const numbers = [...child.fields.values()]
    .filter(({ traits }) => (traits.kind === 'integer' || traits.kind === 'number') && traits.column !== undefined)
    .map((each) => `"${each.name}"`);
  const message = `${name} needs a field of "${child.name}" that stores numbers: ${numbers.join(', ') || 'it has none'}.`;
  return [{ pointer: '/field', message }];
}

function wrongValue(child: CollectionModel, name: string, wanted: unknown): string | undefined {
  const field = child.fields.get(name);
  if (!field) return unknownName(`In collection "${child.name}", field`, name, child.fields.keys());
  const { kind, column } = field.traits;
  if (column === undefined || field.type === 'ENCRYPTED' || kind === 'json' || kind === 'list') {
    return `Children cannot be chosen by "${name}", a field of type ${field.type}.`;
  }
  const stored = wanted === null ? null : fieldCodec(field).parse(wanted);
  return stored instanceof ValueProblem ? stored.message : undefined;
}
