import type { StorageOperation } from './operations.js';
import type { QueueRequest } from './queue-request.js';
import { StorageError } from './storage-error.js';
import type { AccessPolicy } from './emulated-queue.js';

/** Finds a stored access policy of the queue that the request names. */
export type Policies = (id: string) => AccessPolicy | undefined;

export const authenticationFailed = (detail: string): StorageError =>
  new StorageError(
    403,
    'AuthenticationFailed',
    'Server failed to authenticate the request. Make sure the value of the Authorization header is formed correctly including the signature.',
    { AuthenticationErrorDetail: detail },
  );

const mismatch = (what: 'Permission' | 'Service' | 'ResourceType' | 'Protocol', words: string): StorageError =>
  new StorageError(
    403,
    `Authorization${what}Mismatch`,
    `This request is not authorized to perform this operation using this ${words}.`,
  );

const isAccountSas = ({ query }: QueueRequest): boolean => query.has('ss');

/** The text that the `sig` of a shared access signature signs. An account SAS has an encryption scope since version 2020-12-06. */
export function signedText(request: QueueRequest): string {
  const value = (name: string): string => request.query.get(name) ?? '';
  if (isAccountSas(request)) {
    const fields = [request.account, ...['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv'].map(value)];
    return [...fields, ...(value('sv') >= '2020-12-06' ? [value('ses')] : []), ''].join('\n');
  }
  const queue = `/queue/${request.account}/${request.segments[0] ?? ''}`;
  return [value('sp'), value('st'), value('se'), queue, value('si'), value('sip'), value('spr'), value('sv')].join(
    '\n',
  );
}

/** Checks what a signature that matches allows. The range of addresses (`sip`) is not checked: all clients are local. */
export function checkSharedAccess(
  request: QueueRequest,
  operation: StorageOperation,
  policies: Policies,
  now: number,
): void {
  const { query } = request;
  const grant = grantOf(request, policies);
  const expiry = Date.parse(grant.expiry ?? '');
  const start = grant.start === undefined ? now : Date.parse(grant.start);
  if (!(now < expiry && now >= start)) {
    throw authenticationFailed(
      `Signature not valid in the specified time frame: ${grant.start ?? ''} to ${grant.expiry ?? ''}.`,
    );
  }
  if (query.get('spr') === 'https') throw mismatch('Protocol', 'protocol');
  if (isAccountSas(request)) {
    if (!query.get('ss')?.includes('q')) throw mismatch('Service', 'service');
    if (!query.get('srt')?.includes(operation.account.resource)) throw mismatch('ResourceType', 'resource type');
  }
  const anyOf = isAccountSas(request) ? operation.account.anyOf : operation.queue;
  if (!anyOf.split('').some((permission) => grant.permission?.includes(permission)))
    throw mismatch('Permission', 'permission');
}

/** What the parameters grant, or the stored policy that they name. A field must not be in both. */
function grantOf({ query }: QueueRequest, policies: Policies): Omit<AccessPolicy, 'id'> {
  const own = { start: query.get('st'), expiry: query.get('se'), permission: query.get('sp') };
  const id = query.get('si');
  const policy: Omit<AccessPolicy, 'id'> | undefined = id === undefined ? {} : policies(id);
  if (!policy) throw authenticationFailed(`The queue has no stored access policy ${id}.`);
  const grant: Record<string, string> = {};
  for (const field of ['start', 'expiry', 'permission'] as const) {
    const [ours, theirs] = [own[field], policy[field]];
    if (ours !== undefined && theirs !== undefined)
      throw authenticationFailed(`${field} is in the signature and in its policy.`);
    const value = ours ?? theirs;
    if (value !== undefined) grant[field] = value;
  }
  return grant;
}
