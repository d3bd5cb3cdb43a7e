import { defineError } from '@drover/contracts';
import type { RecordProblem } from '../model/record-problem.js';

export const recordNotFound = defineError<{ collection: string; id: string }>('RECORD_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The collection "${d.collection}" has no record ${d.id}. Check the id; the record may be deleted.`,
  help: 'The record does not exist, or is deleted. List deleted records with `deleted=only`.',
});

export const operationNotOffered = defineError<{ collection: string; operation: string }>('OPERATION_NOT_OFFERED', {
  fault: 'caller',
  retryable: false,
  status: 405,
  message: (d) =>
    `The collection "${d.collection}" does not offer "${d.operation}". Its definition can allow it under "api".`,
  help: 'The definition of the collection switches this operation off. Change `api` of the definition to allow it.',
});

export const recordAccessDenied = defineError<{ collection: string; right: 'read' | 'write' }>('RECORD_ACCESS_DENIED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) =>
    `Your API key may not ${d.right} records of "${d.collection}". Use a key with the scope records:${d.right} for it.`,
  help: 'The request touches a collection that the scopes of the API key do not cover: also by references and cascades.',
});

export const queryInvalid = defineError<{ problems: readonly RecordProblem[] }>('INVALID_QUERY', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: ({ problems }) => problems.map(({ detail }) => detail).join(' '),
  help: 'A query parameter has an unknown name, field, operator or value. `source.parameter` names it; the message suggests a similar name.',
});

export const limitExceeded = defineError<{ limit: string; value: number | string; allowed: number; next: string }>(
  'RECORD_LIMIT_EXCEEDED',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) => `The request has ${d.value} ${d.limit}; the limit is ${d.allowed}. ${d.next}`,
    help: 'A request is larger than a limit of the platform, which the message names: conditions, values, included records, depth.',
  },
);

/** The errors of reads, and those that reads and writes share. */
export const requestErrors = [recordNotFound, operationNotOffered, recordAccessDenied, queryInvalid, limitExceeded];
