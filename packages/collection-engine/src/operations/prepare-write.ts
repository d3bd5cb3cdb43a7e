import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { OperationDependencies, RecordRequest } from '../request/record-operation.js';
import type { RequestContext } from '../request/request-context.js';
import { limitExceeded, operationNotOffered, recordAccessDenied, recordNotFound } from '../request/request-errors.js';
import type { RecordDocument } from '../write/input-rows.js';
import type { CheckedReference } from '../write/save-statement.js';
import { ifMatchInvalid, recordBodyInvalid, writeParameterInvalid } from '../write/write-errors.js';

/** Throws unless the collection offers the operation and the caller may write it. */
export function requireWrite(
  { access }: Pick<RequestContext, 'access'>,
  collection: CollectionModel,
  operation: 'create' | 'update' | 'delete',
): void {
  if (!access.mayWrite(collection)) throw recordAccessDenied({ collection: collection.name, right: 'write' });
  if (!collection.api[operation]) throw operationNotOffered({ collection: collection.name, operation });
}

export function readBodyJson({ body }: Pick<RecordRequest, 'body'>): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    const detail =
      body.length === 0 ? 'The request has no body. Send a JSON document.' : `The body is not JSON: ${reason}.`;
    throw recordBodyInvalid({ problems: [{ code: 'INVALID_PAYLOAD', detail, source: { pointer: '' } }] }, error);
  }
}

export function requireBulkLimit({ limits }: Pick<RequestContext, 'limits'>, records: number): void {
  if (records <= limits.bulkRows) return;
  const next = 'Send them in several requests, or import a file.';
  throw limitExceeded({ limit: 'records (bulkRows)', value: records, allowed: limits.bulkRows, next });
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isRecordId = (id: string): boolean => uuid.test(id);

/** Returns the id of the path. One that no record can have is not found. */
export function requireId({ id = '' }: Pick<RecordRequest, 'id'>, collection: CollectionModel): string {
  if (!isRecordId(id)) throw recordNotFound({ collection: collection.name, id });
  return id.toLowerCase();
}

/** Returns the version of `If-Match`; undefined if there is none, or for `*`. */
export function expectedVersion({ headers }: Pick<RecordRequest, 'headers'>): number | undefined {
  const value = headers['if-match']?.trim();
  if (value === undefined || value === '' || value === '*') return undefined;
  const version = /^(?:W\/)?"?([0-9]{1,15})"?$/.exec(value)?.[1];
  if (version === undefined) throw ifMatchInvalid({ value: value.slice(0, 100) });
  return Number(version);
}

/** Whether the client wants no record in the answer (`Prefer: return=minimal`). */
export const wantsMinimal = ({ headers }: Pick<RecordRequest, 'headers'>): boolean =>
  /(?:^|[,;\s])return=minimal(?:$|[,;\s])/i.test(headers['prefer'] ?? '');

/** Returns the parameters of a write by name; throws for one that writes do not have. `filter` may have brackets. */
export function writeParameters(
  { query }: Pick<RecordRequest, 'query'>,
  known: readonly string[],
): Map<string, string> {
  const parameters = new Map<string, string>();
  const problems: RecordProblem[] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    const base = name.split('[')[0] ?? name;
    if (base === 'shape' || known.includes(base)) parameters.set(name, value);
    else {
      const detail = `This request has no parameter "${name}". It takes ${['shape', ...known].join(', ')}.`;
      problems.push({ code: 'INVALID_PARAMETER', detail, source: { parameter: name } });
    }
  }
  if (problems.length > 0) throw writeParameterInvalid({ problems });
  return parameters;
}

/** Finds the collections that the documents refer to, and asks whether the caller may see them. */
export async function findReferences(
  { access, tenantId }: Pick<RequestContext, 'access' | 'tenantId'>,
  collection: CollectionModel,
  documents: readonly RecordDocument[],
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<CheckedReference[]> {
  const set = [...collection.fields.values()].filter(
    ({ traits, column }) => traits.kind === 'reference' && documents.some(({ values }) => hasValue(values[column])),
  );
  return Promise.all(
    set.map(async (field) => {
      const target = await find(tenantId, field.definition.references?.collection ?? '');
      if (!access.mayRead(target) && !access.mayWrite(target)) {
        throw recordAccessDenied({ collection: target.name, right: 'read' });
      }
      return { field, target };
    }),
  );
}

const hasValue = (value: unknown): boolean => value !== null && value !== undefined;
