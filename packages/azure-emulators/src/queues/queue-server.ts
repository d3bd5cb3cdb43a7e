import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { JournalError } from '../journal/journal-error.js';
import type { WorkNotifications } from '../notifications/work-notifications.js';
import type { Authorizer } from './authorize.js';
import {
  clearMessages,
  deleteMessage,
  getMessages,
  maxTextBytes,
  peekMessages,
  putMessage,
  updateMessage,
} from './message-operations.js';
import { operationOf, type StorageOperation } from './operations.js';
import {
  createQueue,
  deleteQueue,
  getAccessPolicies,
  getQueueProperties,
  getServiceProperties,
  getStatistics,
  listQueues,
  setAccessPolicies,
  setQueueMetadata,
  setServiceProperties,
} from './queue-operations.js';
import { errorReply, type QueueReply } from './queue-reply.js';
import { checkQueueName, parseTarget, type QueueRequest } from './queue-request.js';
import type { StorageQueueStore } from './storage-queue-store.js';
import { XmlError } from '../xml/xml.js';
import { invalidXml, messageTooLarge, queueNotFound, StorageError } from './storage-error.js';
import type { EmulatedQueue } from './emulated-queue.js';

interface QueueServerOptions {
  readonly store: StorageQueueStore;
  readonly authorizer: Authorizer;
  readonly notifications: WorkNotifications;
  readonly now: () => number;
}

/** Version of the API that responses name if the request names none. */
const defaultVersion = '2025-11-05';
/** Every character of a text of 64 KiB as an entity, and the elements around it. */
const maxBodyBytes = 6 * maxTextBytes + 4096;
/** Longer than the longest polling interval of the Functions host (one minute): clients reuse their connections. */
const keepAliveMs = 5 * 60_000;

/** The Storage queue REST API on one port. Requests of any API version are answered. */
export class QueueServer {
  readonly #options: QueueServerOptions;
  readonly #server: Server;
  readonly #idPrefix = requestIdPrefix();
  #requests = 0;

  constructor(options: QueueServerOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: keepAliveMs, noDelay: true }, (message, response) =>
      this.#receive(message, response),
    );
    options.notifications.serve(this.#server);
  }

  /** Returns the port, which the system chooses for 0. */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as AddressInfo).port; // a TCP port was opened
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    this.#options.notifications.close();
    await closed;
  }

  #receive(message: IncomingMessage, response: ServerResponse): void {
    this.#requests += 1;
    const requestId = `${this.#idPrefix}${this.#requests.toString(16).padStart(12, '0')}`;
    const length = message.headers['content-length'];
    const hasBody = message.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
    if (!hasBody) return this.#answer(message, response, requestId, '');
    const chunks: Buffer[] = [];
    let bytes = 0;
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) chunks.push(chunk);
    });
    message.on('end', () => {
      if (bytes > maxBodyBytes)
        return send(message, response, requestId, errorReply(messageTooLarge(maxTextBytes), requestId));
      const [first] = chunks;
      const body = chunks.length === 1 && first ? first : Buffer.concat(chunks);
      this.#answer(message, response, requestId, body.toString('utf8'));
    });
  }

  #answer(message: IncomingMessage, response: ServerResponse, requestId: string, body: string): void {
    const fail = (error: unknown): void =>
      send(message, response, requestId, errorReply(toStorageError(error), requestId));
    try {
      const reply = this.#perform(message, body);
      if (!reply.durable) return send(message, response, requestId, reply);
      reply.durable.then(() => send(message, response, requestId, reply), fail);
    } catch (error) {
      fail(error);
    }
  }

  #perform(message: IncomingMessage, body: string): QueueReply {
    const { store, authorizer, now } = this.#options;
    const { method = 'GET', headers, rawHeaders, url = '/' } = message;
    const { path, query, segments, account, isSecondary } = parseTarget(url, headers.host, authorizer.isAccount);
    // Field by field: a spread makes an object that is slow to read.
    const request = { method, path, query, headers, rawHeaders, account, isSecondary, segments, body };
    const operation = operationOf(request);
    const [name = ''] = request.segments;
    const found = name === '' ? undefined : store.findQueue(request.account, name);
    authorizer.check(request, operation, (id) => found?.policies.find((policy) => policy.id === id));
    if (name !== '') checkQueueName(name);
    const queue = (): EmulatedQueue => {
      if (!found) throw queueNotFound();
      return found;
    };
    return perform(operation, request, { store, queue, now: now() });
  }
}

interface World {
  readonly store: StorageQueueStore;
  /** The queue that the request names. Throws QueueNotFound. */
  readonly queue: () => EmulatedQueue;
  readonly now: number;
}

function perform({ name }: StorageOperation, request: QueueRequest, { store, queue, now }: World): QueueReply {
  switch (name) {
    case 'putMessage':
      return putMessage(store, queue(), request, now);
    case 'getMessages':
      return getMessages(store, queue(), request);
    case 'deleteMessage':
      return deleteMessage(store, queue(), request);
    case 'updateMessage':
      return updateMessage(store, queue(), request);
    case 'peekMessages':
      return peekMessages(queue(), request);
    case 'clearMessages':
      return clearMessages(store, queue());
    case 'createQueue':
      return createQueue(store, request);
    case 'deleteQueue':
      return deleteQueue(store, queue());
    case 'getQueueProperties':
      return getQueueProperties(queue());
    case 'setQueueMetadata':
      return setQueueMetadata(store, queue(), request);
    case 'getAccessPolicies':
      return getAccessPolicies(queue());
    case 'setAccessPolicies':
      return setAccessPolicies(store, queue(), request);
    case 'listQueues':
      return listQueues(store, request);
    case 'getServiceProperties':
      return getServiceProperties(store, request);
    case 'setServiceProperties':
      return setServiceProperties(store, request);
    case 'getStatistics':
      return getStatistics(request, now);
  }
}

/** The first 24 digits of a UUID; the number of the request is the rest. */
function requestIdPrefix(): string {
  const digits = randomBytes(12).toString('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-`;
}

function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  if (error instanceof XmlError) return invalidXml(error.message);
  if (error instanceof JournalError) return new StorageError(507, 'EmulatorDiskRefusesWrites', error.message);
  const reason = error instanceof Error ? error.message : String(error);
  return new StorageError(500, 'InternalError', `The emulator failed: ${reason}`);
}

function send(message: IncomingMessage, response: ServerResponse, requestId: string, reply: QueueReply): void {
  const { 'x-ms-client-request-id': clientRequestId, 'x-ms-version': version } = message.headers;
  const headers = [
    'x-ms-request-id',
    requestId,
    'x-ms-version',
    typeof version === 'string' ? version : defaultVersion,
  ];
  if (typeof clientRequestId === 'string') headers.push('x-ms-client-request-id', clientRequestId);
  if (reply.headers) headers.push(...reply.headers);
  const body = message.method === 'HEAD' ? undefined : reply.body;
  if (body !== undefined)
    headers.push('Content-Type', 'application/xml', 'Content-Length', `${Buffer.byteLength(body)}`);
  else if (reply.status !== 204) headers.push('Content-Length', '0');
  response.writeHead(reply.status, headers);
  response.end(body);
}
