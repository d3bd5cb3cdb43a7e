import type { CollectionModel } from '../model/collection-model.js';
import type { IncludeNode } from '../plan/plan-view.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';

/** Puts the values of encrypted fields into the JSON of a response. That of collections without such fields is not searched. */
export function openSealed(
  { tenantId }: RecordContext,
  { cipher }: Pick<OperationDependencies, 'cipher'>,
  { model, includes = [] }: { readonly model: CollectionModel; readonly includes?: readonly IncludeNode[] },
  json: string,
): string {
  return hasSealed(model) || includes.some(leadsToSealed) ? cipher.openAll(tenantId, json) : json;
}

const hasSealed = ({ fields }: CollectionModel): boolean =>
  [...fields.values()].some(({ type }) => type === 'ENCRYPTED');

const leadsToSealed = ({ relation, children }: IncludeNode): boolean =>
  hasSealed(relation.target.model) || children.some(leadsToSealed);
