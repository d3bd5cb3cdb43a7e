import type { IncomingHttpHeaders } from 'node:http';
import {
  invalidQueryParameter,
  missingQueryParameter,
  queryParameterOutOfRange,
  StorageError,
} from './storage-error.js';

/** One request, parsed. */
export interface QueueRequest {
  readonly method: string;
  /** Path as it was sent: signatures cover it. */
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly account: string;
  /** The address was `<account>-secondary`. */
  readonly isSecondary: boolean;
  /** Segments after the account: `[]`, `[queue]`, `[queue, 'messages']` or `[queue, 'messages', id]`. */
  readonly segments: readonly string[];
  readonly body: string;
}

const secondary = '-secondary';

/** The account is the first segment of the path, or the first label of the host name if that is an account. */
export function parseTarget(
  target: string,
  host: string | undefined,
  isAccount: (name: string) => boolean,
): Pick<QueueRequest, 'path' | 'query' | 'account' | 'isSecondary' | 'segments'> {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = parseQuery(mark < 0 ? '' : target.slice(mark + 1));
  const segments = path.split('/').slice(1).map(decode);
  if (segments.at(-1) === '') segments.pop();
  const hostLabel = host?.split('.', 1)[0] ?? '';
  const isHostStyle = host?.includes('.') === true && isAccount(withoutSecondary(hostLabel));
  const name = isHostStyle ? hostLabel : (segments.shift() ?? '');
  return { path, query, segments, account: withoutSecondary(name), isSecondary: name.endsWith(secondary) };
}

const withoutSecondary = (name: string): string => (name.endsWith(secondary) ? name.slice(0, -secondary.length) : name);

function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  if (text === '') return query;
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = (equals < 0 ? pair : pair.slice(0, equals)).toLowerCase();
    query.set(decode(name), equals < 0 ? '' : decode(pair.slice(equals + 1)));
  }
  return query;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', '%20') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new StorageError(400, 'InvalidUri', 'The requested URI does not represent any resource on the server.');
  }
}

export function requiredParameter({ query }: QueueRequest, name: string): string {
  const value = query.get(name);
  if (value === undefined || value === '') throw missingQueryParameter(name);
  return value;
}

/** Reads a whole number of the query within these bounds; undefined if it is not there. */
export function numberParameter(
  { query }: QueueRequest,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = query.get(name);
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw invalidQueryParameter(name, text, 'The value must be a whole number.');
  if (value < min || value > max) throw queryParameterOutOfRange(name, value, min, max);
  return value;
}

/** Throws if a queue cannot have this name. */
export function checkQueueName(name: string): void {
  if (name.length > 0 && (name.length < 3 || name.length > 63)) {
    throw new StorageError(
      400,
      'OutOfRangeInput',
      'The specified resource name length is not within the permissible limits.',
    );
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw new StorageError(400, 'InvalidResourceName', 'The specified resource name contains invalid characters.');
  }
}

/** Reads `x-ms-meta-…` headers. Their names keep their case, which `headers` would not. */
export function metadataOf({ rawHeaders }: QueueRequest): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.toLowerCase().startsWith('x-ms-meta-'))
      metadata[name.slice('x-ms-meta-'.length)] = rawHeaders[at + 1] ?? '';
  }
  return metadata;
}
