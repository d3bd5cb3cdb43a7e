import { createHmac } from 'node:crypto';
import { developmentAccount } from '../queues/authorize.js';

export interface AzuriteRequest {
  readonly kind: 'blob' | 'table';
  readonly port: number;
  /** Below the account, encoded: `/container/blob`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

const version = '2021-12-02';
const answerWithinMs = 10_000;

/** Reads from Azurite with the public key of the account. Throws with its answer if that is no success. */
export async function getFromAzurite(
  request: AzuriteRequest,
): Promise<{ readonly text: string; readonly headers: Headers }> {
  const { kind, port, path, query } = request;
  const { name, key } = developmentAccount;
  const url = new URL(`http://127.0.0.1:${port}/${name}${path}`);
  for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
  const headers: Record<string, string> = {
    ...request.headers,
    'x-ms-date': new Date().toUTCString(),
    'x-ms-version': version,
  };
  const text =
    kind === 'blob' ? blobStringToSign(url, headers, query) : `${headers['x-ms-date']}\n/${name}${url.pathname}`;
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  const scheme = kind === 'blob' ? 'SharedKey' : 'SharedKeyLite';
  const response = await fetch(url, {
    headers: { ...headers, authorization: `${scheme} ${name}:${signature}` },
    signal: AbortSignal.timeout(answerWithinMs),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`The ${kind} service answered ${response.status}: ${answer.slice(0, 200)}`);
  return { text: answer, headers: response.headers };
}

/** The parts that a signature of the blob service covers; a GET has none of the eleven standard headers. */
function blobStringToSign(
  url: URL,
  headers: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string {
  const own = Object.keys(headers).filter((name) => name.startsWith('x-ms-'));
  const canonicalHeaders = own.toSorted().map((name) => `${name}:${headers[name]}\n`);
  const parameters = Object.keys(query).toSorted();
  const resource = [
    `/${developmentAccount.name}${url.pathname}`,
    ...parameters.map((name) => `${name}:${query[name]}`),
  ];
  return `GET${'\n'.repeat(12)}${canonicalHeaders.join('')}${resource.join('\n')}`;
}
