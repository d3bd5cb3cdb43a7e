import { defineError } from '@drover/contracts';

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
