import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { shown } from '../values/value-problem.js';
import { unknownName } from './check-relations.js';
import type { PicklistValuesByName } from './normalize.js';
import { pointerPart, type DefinitionProblem } from './shape-problems.js';

/** Checks the picklists that fields name, and the dependencies between picklists of a record. */
export function checkPicklists(
  model: CollectionModel,
  picklists: PicklistValuesByName = new Map(),
): DefinitionProblem[] {
  return model.definition.fields.flatMap(({ name, picklist, dependsOn }, index) => {
    const field = model.fields.get(name);
    const problems: DefinitionProblem[] = [];
    if (picklist !== undefined && !picklists.has(picklist)) {
      const message = `${unknownName('Picklist', picklist, picklists.keys())} Create it with PUT /control/picklists/${picklist}.`;
      problems.push({ pointer: `/fields/${index}/picklist`, message });
    }
    if (dependsOn && field) problems.push(...checkDependency(model, field, `/fields/${index}/dependsOn`));
    return problems;
  });
}

function checkDependency(model: CollectionModel, field: FieldModel, pointer: string): DefinitionProblem[] {
  const { dependsOn } = field.definition;
  const controlling = model.fields.get(dependsOn?.field ?? '');
  const refuse = (message: string): DefinitionProblem[] => [{ pointer: `${pointer}/field`, message }];
  if (!dependsOn) return [];
  if (!controlling) return refuse(unknownName('Field', dependsOn.field, model.fields.keys()));
  if (controlling.type !== 'PICKLIST') {
    return refuse(`"${controlling.name}" is ${controlling.type}. A picklist depends on a field of type PICKLIST.`);
  }
  if (leadsTo(model, controlling, field))
    return refuse(`"${field.name}" would depend on itself. Choose another field.`);
  return Object.entries(dependsOn.values).flatMap(([value, allowed]) => {
    const at = `${pointer}/values/${pointerPart(value)}`;
    if (!controlling.definition.values?.includes(value)) {
      return [
        {
          pointer: at,
          message: unknownName(`In "${controlling.name}", value`, value, controlling.definition.values ?? []),
        },
      ];
    }
    if (!Array.isArray(allowed)) return [{ pointer: at, message: 'Must be an array of values.' }];
    return allowed.flatMap((one: unknown, index) =>
      typeof one === 'string' && field.definition.values?.includes(one)
        ? []
        : [
            {
              pointer: `${at}/${index}`,
              message: unknownName(
                `In "${field.name}", value`,
                typeof one === 'string' ? one : shown(one),
                field.definition.values ?? [],
              ),
            },
          ],
    );
  });
}

/** Whether a field depends on another one, directly or not. */
function leadsTo(model: CollectionModel, from: FieldModel, to: FieldModel): boolean {
  const seen = new Set<FieldModel>();
  for (let field: FieldModel | undefined = from; field && !seen.has(field); ) {
    if (field === to) return true;
    seen.add(field);
    field = model.fields.get(field.definition.dependsOn?.field ?? '');
  }
  return false;
}
