import type { RecordAnswer, RecordContext } from '../request/record-context.js';

type Shape = RecordContext['shape'];

const contentTypes: Readonly<Record<Shape, string>> = {
  jsonapi: 'application/vnd.api+json',
  flat: 'application/json; charset=utf-8',
};

/** Makes the answer with one record. `record` and `included` are JSON. */
export function recordAnswer(
  shape: Shape,
  {
    status,
    record,
    included,
    version,
  }: { status: number; record: string; included?: string | null | undefined; version: number },
): RecordAnswer {
  const more = shape === 'jsonapi' && included !== undefined && included !== null ? `,"included":[${included}]` : '';
  return {
    status,
    headers: { 'content-type': contentTypes[shape], etag: `"${version}"` },
    body: shape === 'jsonapi' ? `{"data":${record}${more}}` : record,
  };
}

/** What a list says beside its records. */
export interface ListMeta {
  readonly pageSize: number;
  readonly hasMore: boolean;
  readonly nextCursor?: string | undefined;
  readonly currentPage?: number | undefined;
  readonly totalPages?: number | undefined;
  readonly total?: number | undefined;
  readonly totalIsEstimate?: boolean | undefined;
}

/** Makes the answer with a list of records. `data` and `included` are JSON, separated by commas; null for none. */
export function listAnswer(
  shape: Shape,
  list: {
    readonly data: string | null;
    readonly included: string | null | undefined;
    readonly links: Readonly<Record<string, string | undefined>>;
    readonly meta: ListMeta;
  },
): RecordAnswer {
  const included = shape === 'jsonapi' && list.included !== undefined ? `,"included":[${list.included ?? ''}]` : '';
  return {
    status: 200,
    headers: { 'content-type': contentTypes[shape] },
    body: `{"data":[${list.data ?? ''}]${included},"links":${JSON.stringify(list.links)},"meta":${JSON.stringify(list.meta)}}`,
  };
}

/** Returns the address of another page: the request with other parameters `page[…]`; the size of the page stays. */
export function pageLink(path: string, query: string, page: Readonly<Record<string, string>>): string {
  const kept = query.split('&').filter((part) => part !== '' && !isPosition(part));
  const added = Object.entries(page).map(([key, value]) => `page%5B${key}%5D=${encodeURIComponent(value)}`);
  return `${path}?${[...kept, ...added].join('&')}`;
}

const isPosition = (part: string): boolean =>
  /^page(?:\[|%5b)(?:number|after|before|cursor)(?:\]|%5d)(?:=|$)/i.test(part);

/**
 * Returns the entity tag by which a client has what a response would show: `If-None-Match` lists it, weak or strong, as it is or with the
 * coding of a compressed answer, or is `*`. Undefined if the client does not have it.
 */
export function matchingEntityTag(ifNoneMatch: string | undefined, etag: string): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  const known = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return known.includes('*') ? etag : known.find((one) => one.replace(codedTag, '"') === etag);
}

/** A compressed answer is another representation, so its tag differs: `"3-br"` in place of `"3"`. */
export const codedTag = /-(?:br|gzip)"$/;
