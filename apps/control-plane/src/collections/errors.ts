import { defineError } from '@drover/contracts';

export const fieldUnknown = defineError<{ collection: string; field: string; similar: string | undefined }>(
  'COLLECTION_FIELD_UNKNOWN',
  {
    fault: 'caller',
    retryable: false,
    status: 404,
    message: (d) =>
      `The collection "${d.collection}" has no field "${d.field}".${d.similar === undefined ? '' : ` Did you mean "${d.similar}"?`} See its definition with "drover collections show ${d.collection}".`,
    help: 'See the fields of a collection with `drover collections show NAME` or `GET /control/collections/NAME`.',
  },
);

export const collectionVersionUnknown = defineError<{ collection: string; version: number }>(
  'COLLECTION_VERSION_UNKNOWN',
  {
    fault: 'caller',
    retryable: false,
    status: 404,
    message: (d) =>
      `The collection "${d.collection}" has no version ${d.version}. List them with "drover collections versions ${d.collection}".`,
    help: 'List the versions with `drover collections versions NAME` or `GET /control/collections/NAME/versions`.',
  },
);

export const picklistUnknown = defineError<{ picklist: string; similar: string | undefined }>('PICKLIST_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `Your tenant has no picklist "${d.picklist}".${d.similar === undefined ? '' : ` Did you mean "${d.similar}"?`} List them with GET /control/picklists.`,
  help: 'List the picklists with `GET /control/picklists`, or create one with `PUT /control/picklists/NAME`.',
});

export const collectionApiErrors = { fieldUnknown, collectionVersionUnknown, picklistUnknown };
