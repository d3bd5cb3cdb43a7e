import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { StorageOperation } from './operations.js';
import type { QueueRequest } from './queue-request.js';
import { authenticationFailed, checkSharedAccess, signedText, type Policies } from './shared-access.js';
import { StorageError } from './storage-error.js';

/** Names of accounts with their keys in base64. */
export type StorageAccounts = Readonly<Record<string, readonly string[]>>;

/** The account that `UseDevelopmentStorage=true` means. Its key is public. */
export const developmentAccount = {
  name: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
} as const;

/** Checks the signatures of requests: shared key, shared key lite, account SAS and queue SAS. */
export class Authorizer {
  readonly #accounts: ReadonlyMap<string, readonly KeyObject[]>;
  readonly #now: () => number;

  constructor(accounts: StorageAccounts, now: () => number) {
    this.#now = now;
    this.#accounts = new Map(
      Object.entries(accounts).map(([name, keys]) => [
        name,
        keys.map((key) => createSecretKey(Buffer.from(key, 'base64'))),
      ]),
    );
  }

  readonly isAccount = (name: string): boolean => this.#accounts.has(name);

  /** Throws if the request may not do this. `policies` finds stored access policies of the queue. */
  check(request: QueueRequest, operation: StorageOperation, policies: Policies): void {
    const keys = this.#accounts.get(request.account);
    if (!keys) throw new StorageError(404, 'ResourceNotFound', `The account ${request.account} does not exist here.`);
    const isSigned = (text: string, signature: string): boolean =>
      keys.some((key) => isEqual(createHmac('sha256', key).update(text, 'utf8').digest('base64'), signature));
    const { authorization } = request.headers;
    if (authorization !== undefined) return checkSharedKey(request, authorization, isSigned);
    const signature = request.query.get('sig');
    if (signature === undefined)
      throw authenticationFailed('The request has neither an Authorization header nor a signature.');
    if (!isSigned(signedText(request), signature)) throw authenticationFailed('The signature does not match.');
    checkSharedAccess(request, operation, policies, this.#now());
  }
}

function isEqual(expected: string, actual: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(actual)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function checkSharedKey(
  request: QueueRequest,
  authorization: string,
  isSigned: (text: string, signature: string) => boolean,
): void {
  const [, scheme, account, signature = ''] = /^(SharedKey|SharedKeyLite) ([^:]+):(.+)$/.exec(authorization) ?? [];
  if (!scheme) {
    throw new StorageError(
      400,
      'InvalidAuthenticationInfo',
      'Authentication information is not given in the correct format. Check the value of Authorization header.',
    );
  }
  const isLite = scheme === 'SharedKeyLite';
  const head = isLite ? liteHead(request) : fullHead(request);
  for (const resource of resourcesOf(request, isLite)) {
    // Clients do not agree on the order of hyphens; the first order is that of nearly all requests.
    for (const order of [byCodeUnits, withoutHyphens]) {
      if (account === request.account && isSigned(`${head}${signedHeaders(request, order)}${resource}`, signature))
        return;
    }
  }
  throw authenticationFailed('The signature of the Authorization header does not match. Check the account key.');
}

const header = ({ headers }: QueueRequest, name: string): string => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : (value ?? '');
};

function fullHead(request: QueueRequest): string {
  const length = header(request, 'content-length');
  const value = (name: string): string => `${header(request, name)}\n`;
  return (
    `${request.method}\n${value('content-language')}${value('content-encoding')}${length === '0' ? '' : length}\n` +
    `${value('content-md5')}${value('content-type')}${value('date')}${value('if-modified-since')}` +
    `${value('if-match')}${value('if-none-match')}${value('if-unmodified-since')}${value('range')}`
  );
}

const liteHead = (request: QueueRequest): string =>
  ['content-md5', 'content-type', 'date'].reduce(
    (text, name) => `${text}${header(request, name)}\n`,
    `${request.method}\n`,
  );

type Order = (a: string, b: string) => number;
const byCodeUnits: Order = (a, b) => (a < b ? -1 : 1);
const withoutHyphens: Order = (a, b) => byCodeUnits(a.replaceAll('-', ''), b.replaceAll('-', ''));

function signedHeaders(request: QueueRequest, order: Order): string {
  const names = Object.keys(request.headers).filter((name) => name.startsWith('x-ms-'));
  return names
    .toSorted(order)
    .map((name) => `${name}:${header(request, name).trimStart()}\n`)
    .join('');
}

/** Clients sign the address of a secondary with and without its suffix. */
function resourcesOf({ account, path, query, isSecondary }: QueueRequest, isLite: boolean): string[] {
  const paths = isSecondary ? [path, path.replace('-secondary', '')] : [path];
  const comp = query.get('comp');
  const parameters = isLite
    ? comp === undefined
      ? ''
      : `?comp=${comp}`
    : [...query.keys()]
        .toSorted(byCodeUnits)
        .map((name) => `\n${name}:${query.get(name)}`)
        .join('');
  return paths.map((each) => `/${account}${each === '' ? '/' : each}${parameters}`);
}
