import { defineError } from '@drover/contracts';
import type { RecordProblem } from '../model/record-problem.js';

interface Problems {
  readonly problems: readonly RecordProblem[];
}

const all = ({ problems }: Problems): string => problems.map(({ detail }) => detail).join(' ');

export const recordBodyInvalid = defineError<Problems>('INVALID_PAYLOAD', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: all,
  help: 'The body of a write is neither a JSON:API document nor a plain object, or an array of them. The pointer names the part.',
});

export const recordInvalid = defineError<Problems>('VALIDATION_FAILED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: all,
  help: 'Values of a record break the definition of its collection. Each problem names the field and the constraint; nothing was written.',
});

export const ruleFailed = defineError<Problems>('VALIDATION_RULE_FAILED', {
  fault: 'caller',
  retryable: false,
  status: 422,
  message: all,
  help: 'A validation rule of the collection refuses the record. The message is that of the rule; nothing was written.',
});

export const uniqueViolation = defineError<Problems>('UNIQUE_VIOLATION', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: all,
  help: 'Another record has the same value of a unique field or set of fields. Change the value, or upsert with `on_conflict`.',
});

export const staleWrite = defineError<{ id: string; expected: number; version: number }>('STALE_WRITE', {
  fault: 'caller',
  retryable: false,
  status: 412,
  message: (d) =>
    `The record ${d.id} has version ${d.version}, but the request expects ${d.expected}. Read it again and repeat the change.`,
  help: 'The record was changed since it was read. Read it again and repeat the change with the new ETag.',
});

export const ifMatchInvalid = defineError<{ value: string }>('IF_MATCH_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `The header If-Match is "${d.value}". Send the ETag of the record, for example "3", or *.`,
  help: 'ETags of records are their version in quotes. Send the one that a read returned, or `*` for any version.',
});

export const referencedRecord = defineError<{ collection: string; field: string }>('REFERENCED_RECORD', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `Records of "${d.collection}" need this record in their required field "${d.field}". Change or delete them first.`,
  help: 'Records with a required lookup to this record exist. Change or delete them first.',
});

export const tooManyAffected = defineError<{ affected: number; limit: number; name: string }>('TOO_MANY_AFFECTED', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The request would change ${d.affected} records or more, but ${d.name} allows ${d.limit}. Nothing was changed; narrow the filter or raise the limit.`,
  help: 'A write by filter or a cascade reached more records than `max_affected` or the limit of the platform allows. Nothing was changed.',
});

export const idempotencyKeyReused = defineError<{ key: string }>('RECORD_IDEMPOTENCY_KEY_REUSED', {
  fault: 'caller',
  retryable: false,
  status: 422,
  message: (d) =>
    `The Idempotency-Key "${d.key}" was used for another request. Send the same request again, or choose a new key.`,
  help: 'An idempotency key belongs to one request for 24 hours. Choose a new key for another request.',
});

export const historyOff = defineError<{ collection: string }>('HISTORY_OFF', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `The collection "${d.collection}" keeps no history. Set "history": true in its definition.`,
  help: 'Versions of records exist for collections with `history`. Switch it on; versions are kept from then on.',
});

export const softDeleteOff = defineError<{ collection: string }>('SOFT_DELETE_OFF', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The collection "${d.collection}" keeps no deleted records. Set "softDelete": true in its definition.`,
  help: 'Deleted records can be restored in collections with `softDelete`. Records that were deleted before cannot.',
});

export const versionUnknown = defineError<{ id: string; version: number }>('RECORD_VERSION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The record ${d.id} has no version ${d.version} in its history. List them with GET …/versions.`,
  help: 'The version does not exist, or was made before the history of the collection was switched on.',
});

export const writeParameterInvalid = defineError<Problems>('INVALID_PARAMETER', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: all,
  help: 'A parameter or header of a write has a wrong value, or is missing. The source names it.',
});

/** The errors of writes of records. */
export const writeErrors = [
  recordBodyInvalid,
  recordInvalid,
  ruleFailed,
  uniqueViolation,
  staleWrite,
  ifMatchInvalid,
  referencedRecord,
  tooManyAffected,
  idempotencyKeyReused,
  historyOff,
  softDeleteOff,
  versionUnknown,
  writeParameterInvalid,
];
