import { defineError } from '@drover/contracts';
import { changeErrors } from './events/change-errors.js';
import { bulkErrors } from './bulk/bulk-errors.js';
import { definitionErrors } from './definition/definition-errors.js';
import { requestErrors } from './request/request-errors.js';
import { collectionStoreErrors } from './store/store-errors.js';
import { valueErrors } from './values/value-errors.js';
import { writeErrors } from './write/write-errors.js';

export const collectionUnknown = defineError<{ collection: string; similar: string | undefined }>(
  'COLLECTION_UNKNOWN',
  {
    fault: 'caller',
    retryable: false,
    status: 404,
    message: (d) =>
      `Your tenant has no collection "${d.collection}".${d.similar === undefined ? '' : ` Did you mean "${d.similar}"?`} List the collections with "drover collections list".`,
    help: 'List the collections with `drover collections list` or `GET /control/collections`.',
  },
);

/** The errors of the catalogue that this package throws. */
export const collectionEngineErrors = [
  collectionUnknown,
  ...requestErrors,
  ...changeErrors,
  ...collectionStoreErrors,
  ...bulkErrors,
  ...definitionErrors,
  ...valueErrors,
  ...writeErrors,
];
