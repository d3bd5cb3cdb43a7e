import { defineError } from '@drover/contracts';

export const collectionUnknown = defineError<{
  collection: string;
  similar: string | undefined;
  renamedTo?: string | undefined;
}>('COLLECTION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `Your tenant has no collection "${d.collection}".${hintOf(d)} List the collections with "drover collections list".`,
  help: 'List the collections with `drover collections list` or `GET /control/collections`.',
});

function hintOf({
  similar,
  renamedTo,
}: {
  readonly similar: string | undefined;
  readonly renamedTo?: string | undefined;
}): string {
  if (renamedTo !== undefined) return ` It was renamed to "${renamedTo}": use that name.`;
  return similar === undefined ? '' : ` Did you mean "${similar}"?`;
}
