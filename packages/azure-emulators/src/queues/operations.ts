import type { QueueRequest } from './queue-request.js';
import { invalidQueryParameter, StorageError } from './storage-error.js';

/** The operations of the queue service, with the rights that a shared access signature needs for each. */
export interface StorageOperation {
  readonly name: OperationName;
  /** Resource type (`srt`) and one of these permissions (`sp`) of an account SAS. Empty: not allowed. */
  readonly account: { readonly resource: 's' | 'c' | 'o'; readonly anyOf: string };
  /** One of these permissions of a queue SAS. Empty: not allowed. */
  readonly queue: string;
}

type OperationName = keyof typeof rights;

const rights = {
  listQueues: ['s', 'l', ''],
  getServiceProperties: ['s', 'r', ''],
  setServiceProperties: ['s', 'w', ''],
  getStatistics: ['s', 'r', ''],
  createQueue: ['c', 'cw', ''],
  deleteQueue: ['c', 'd', ''],
  getQueueProperties: ['c', 'r', 'r'],
  setQueueMetadata: ['c', 'w', ''],
  getAccessPolicies: ['c', '', ''],
  setAccessPolicies: ['c', '', ''],
  putMessage: ['o', 'a', 'a'],
  getMessages: ['o', 'p', 'p'],
  peekMessages: ['o', 'r', 'r'],
  clearMessages: ['o', 'd', ''],
  updateMessage: ['o', 'u', 'u'],
  deleteMessage: ['o', 'p', 'p'],
} as const satisfies Record<string, readonly ['s' | 'c' | 'o', string, string]>;

const operations = Object.fromEntries(
  Object.entries(rights).map(([name, [resource, anyOf, queue]]) => [
    name,
    { name, account: { resource, anyOf }, queue },
  ]),
) as Record<OperationName, StorageOperation>; // the same keys

/** Returns the operation that a request asks for. Throws if the service has none. */
export function operationOf(request: QueueRequest): StorageOperation {
  const name = nameOf(request);
  if (name) return operations[name];
  if (isKnownResource(request)) {
    throw new StorageError(405, 'UnsupportedHttpVerb', 'The resource does not support the specified HTTP verb.');
  }
  throw invalidQueryParameter('comp', request.query.get('comp') ?? '', 'The queue service has no such resource.');
}

function nameOf({ method, query, segments }: QueueRequest): OperationName | undefined {
  const comp = query.get('comp');
  switch (segments.length) {
    case 0:
      return onService(method, comp, query.get('restype'));
    case 1:
      return onQueue(method, comp);
    case 2:
      return segments[1] === 'messages' ? onMessages(method, query.get('peekonly')) : undefined;
    case 3:
      return segments[1] === 'messages' ? onMessage(method) : undefined;
    default:
      return undefined;
  }
}

function onService(method: string, comp: string | undefined, restype: string | undefined): OperationName | undefined {
  if (comp === 'list') return method === 'GET' ? 'listQueues' : undefined;
  if (restype !== 'service') return undefined;
  if (comp === 'stats') return method === 'GET' ? 'getStatistics' : undefined;
  if (comp !== 'properties') return undefined;
  if (method === 'GET') return 'getServiceProperties';
  return method === 'PUT' ? 'setServiceProperties' : undefined;
}

function onQueue(method: string, comp: string | undefined): OperationName | undefined {
  const isRead = method === 'GET' || method === 'HEAD';
  if (comp === 'metadata') return isRead ? 'getQueueProperties' : method === 'PUT' ? 'setQueueMetadata' : undefined;
  if (comp === 'acl') return isRead ? 'getAccessPolicies' : method === 'PUT' ? 'setAccessPolicies' : undefined;
  if (comp !== undefined) return undefined;
  return method === 'PUT' ? 'createQueue' : method === 'DELETE' ? 'deleteQueue' : undefined;
}

function onMessages(method: string, peekOnly: string | undefined): OperationName | undefined {
  if (method === 'POST') return 'putMessage';
  if (method === 'DELETE') return 'clearMessages';
  if (method !== 'GET') return undefined;
  return peekOnly?.toLowerCase() === 'true' ? 'peekMessages' : 'getMessages';
}

const onMessage = (method: string): OperationName | undefined =>
  method === 'PUT' ? 'updateMessage' : method === 'DELETE' ? 'deleteMessage' : undefined;

function isKnownResource({ segments, query }: QueueRequest): boolean {
  if (segments.length === 0) return ['list', 'stats', 'properties'].includes(query.get('comp') ?? '');
  if (segments.length === 1) return [undefined, 'metadata', 'acl'].includes(query.get('comp'));
  return segments.length <= 3 && segments[1] === 'messages';
}
