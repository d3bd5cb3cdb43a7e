import { defineError } from '@drover/contracts';
import type { ChangeRefusal } from '../schema-change/change-plan.js';

export const collectionExists = defineError<{ collection: string }>('COLLECTION_EXISTS', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `Your tenant already has a collection "${d.collection}". Change it with PUT /control/collections/${d.collection}, or choose another name.`,
  help: 'Names of collections are unique in a tenant. Change the existing collection, or choose another name.',
});

export const collectionQuotaExceeded = defineError<{ limit: number }>('COLLECTION_QUOTA_EXCEEDED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) =>
    `Your tenant has the most collections that it may have (${d.limit}). Delete one, or ask the operator for more.`,
  help: 'The tenant has as many collections as its limit allows. Delete one, or raise the limit.',
});

export const collectionVersionMismatch = defineError<{ collection: string; expected: number; current: number }>(
  'COLLECTION_VERSION_MISMATCH',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `Collection "${d.collection}" has version ${d.current}, not ${d.expected}. Read it again and repeat your change.`,
    help: 'The collection was changed since it was read. Read the definition again and repeat the change.',
  },
);

export const collectionChangeRunning = defineError<{ collection: string; changeId: string }>(
  'COLLECTION_CHANGE_RUNNING',
  {
    fault: 'caller',
    retryable: true,
    status: 409,
    message: (d) =>
      `Another change of collection "${d.collection}" is running (${d.changeId}). Repeat yours when it has ended.`,
    help: 'A collection is changed by one change at a time. Wait until the running one has ended.',
  },
);

export const collectionChangeRefused = defineError<{ collection: string; refusals: readonly ChangeRefusal[] }>(
  'COLLECTION_CHANGE_REFUSED',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `Collection "${d.collection}" cannot be changed like this. ${d.refusals.map(({ message }) => message).join(' ')}`,
    help: 'The change does not fit the records that are stored, or is not supported. `details.refusals` names every reason and the number of records in the way.',
  },
);

export const collectionSetBroken = defineError('COLLECTION_SET_BROKEN', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: () =>
    'A collection of the request was deleted while the others were prepared, so none of them was changed. Repeat the request without it.',
  help: 'Collections that are applied together change together or not at all. Apply the others again without the deleted one.',
});

export const picklistInUse = defineError<{ picklist: string; by: readonly string[] }>('PICKLIST_IN_USE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `Picklist "${d.picklist}" cannot be deleted: fields of ${d.by.map((name) => `"${name}"`).join(', ')} use it. Change these fields first.`,
  help: 'Fields of collections take their values from the picklist. Give them values of their own, or another picklist, first.',
});

export const picklistQuotaExceeded = defineError<{ limit: number }>('PICKLIST_QUOTA_EXCEEDED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `Your tenant has the most picklists that it may have (${d.limit}). Delete one that no field uses.`,
  help: 'The tenant has as many picklists as it may have. Delete one.',
});

export const picklistChanged = defineError<{ picklist: string }>('PICKLIST_CHANGED', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `Picklist "${d.picklist}", or a collection that uses it, is being changed by another request. Repeat yours when it has ended.`,
  help: 'A picklist and the collections that use it change together. Wait until the other change has ended, and repeat the request.',
});

export const collectionReferenced = defineError<{ collection: string; by: readonly string[] }>(
  'COLLECTION_REFERENCED',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `Collection "${d.collection}" cannot be deleted: ${d.by.map((name) => `"${name}"`).join(', ')} refers to it. Remove these fields or collections first.`,
    help: 'Fields of other collections refer to this one. Remove these fields, or delete those collections first.',
  },
);

export const collectionTargetMissing = defineError<{ collection: string; targets: readonly string[] }>(
  'COLLECTION_TARGET_MISSING',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `Collection "${d.collection}" refers to ${d.targets.map((name) => `"${name}"`).join(', ')}, which your tenant does not have. Create it first.`,
    help: 'A field refers to a collection that was deleted meanwhile. Create it, or remove the field.',
  },
);

export const collectionStoreErrors = [
  collectionExists,
  collectionQuotaExceeded,
  collectionVersionMismatch,
  collectionChangeRunning,
  collectionChangeRefused,
  collectionSetBroken,
  picklistInUse,
  picklistQuotaExceeded,
  picklistChanged,
  collectionReferenced,
  collectionTargetMissing,
];
