import { changeErrors } from './events/change-errors.js';
import { bulkErrors } from './bulk/bulk-errors.js';
import { definitionErrors } from './definition/definition-errors.js';
import { collectionUnknown } from './model/collection-unknown.js';
import { requestErrors } from './request/request-errors.js';
import { collectionStoreErrors } from './store/store-errors.js';
import { storageErrors } from './storage/storage-errors.js';
import { valueErrors } from './values/value-errors.js';
import { writeErrors } from './write/write-errors.js';

export { collectionUnknown };

/** The errors of the catalogue that this package throws. */
export const collectionEngineErrors = [
  collectionUnknown,
  ...requestErrors,
  ...changeErrors,
  ...collectionStoreErrors,
  ...storageErrors,
  ...bulkErrors,
  ...definitionErrors,
  ...valueErrors,
  ...writeErrors,
];
