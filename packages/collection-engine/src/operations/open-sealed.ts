import type { CollectionModel } from '../model/collection-model.js';
import type { IncludeNode } from '../plan/plan-view.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';

/**
 * Puts the values of encrypted fields into the JSON of a response. Texts of collections without such fields are never looked at: one of
 * them may look like an encrypted value, which could not be opened.
 */
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
