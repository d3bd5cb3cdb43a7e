import type { ManagementReply, ManagementRequest } from '../../amqp/amqp-service.js';
import { amqpValue, integerOf } from '../../amqp/values.js';
import type { Broker } from '../broker/broker.js';
import { BrokerError, sessionLockLost } from '../broker/broker-error.js';
import type { Entity } from '../broker/entity.js';
import type { BrokerMessage, SessionLock } from '../broker/message.js';
import type { MessageQueue } from '../broker/message-queue.js';
import { encodeDelivery, encodeLockedDelivery } from './delivery-encoding.js';
import { decodeContent } from './encoded-content.js';
import { encodeRule, readRule } from './rule-wire.js';
import { userChanges } from './settlement.js';

export interface ManagementParts {
  readonly broker: Broker;
  /** Connection of the receiver that holds a session. */
  readonly holderOf: (queue: MessageQueue, session: SessionLock) => number | undefined;
}

/** One request with its target found. Topics have no queue to receive from: their main queue holds scheduled messages only. */
interface Operation {
  readonly broker: Broker;
  readonly entity: Entity;
  readonly queue: MessageQueue;
  readonly body: Readonly<Record<string, unknown>>;
  readonly nowMs: number;
  /** The session named in the request, if this client has its lock. Throws `session-lock-lost`. */
  readonly session: () => SessionLock;
}

const prefix = 'com.microsoft:';
const ok: ManagementReply = { status: 200 };
const empty: ManagementReply = { status: 204 };
const maxPeek = 5_000;

const operations: Readonly<Record<string, (operation: Operation) => ManagementReply>> = {
  'renew-lock': renewLocks,
  'peek-message': peekMessages,
  'schedule-message': scheduleMessages,
  'cancel-scheduled-message': ({ queue, body, nowMs }) => {
    queue.cancelScheduled(integers(body['sequence-numbers']), nowMs);
    return ok;
  },
  'receive-by-sequence-number': receiveDeferred,
  'update-disposition': updateDisposition,
  'renew-session-lock': ({ queue, session, nowMs }) => ({
    status: 200,
    body: { expiration: amqpValue.timestamp(queue.renewSession(session(), nowMs)) },
  }),
  'set-session-state': ({ queue, session, body, nowMs }) => {
    const state = body['session-state'];
    queue.setSessionState(session().sessionId, Buffer.isBuffer(state) ? Buffer.from(state) : undefined, nowMs);
    return ok;
  },
  'get-session-state': ({ queue, session }) => {
    const state = queue.store.sessions.get(session().sessionId)?.state;
    return { status: 200, body: { 'session-state': state === undefined ? null : amqpValue.binary(state) } };
  },
  'get-message-sessions': listSessions,
  'add-rule': ({ broker, entity, body, nowMs }) => {
    broker.entities.addRule(subscription(entity), readRule(body), nowMs);
    return ok;
  },
  'remove-rule': ({ broker, entity, body, nowMs }) => {
    broker.entities.removeRule(subscription(entity), String(body['rule-name']), nowMs);
    return ok;
  },
  'enumerate-rules': ({ entity, body }) => {
    const skip = integerOf(body['skip']) ?? 0;
    const rules = subscription(entity).description.rules.slice(skip, skip + (integerOf(body['top']) ?? 100));
    if (rules.length === 0) return empty;
    return {
      status: 200,
      body: { rules: amqpValue.list(rules.map((rule) => ({ 'rule-description': encodeRule(rule) }))) },
    };
  },
  'batch-delete-messages': ({ queue, body, nowMs }) => {
    const before = body['enqueued-time-utc'];
    const count = integerOf(body['message-count']) ?? 0;
    const sessionId = text(body['session-id']);
    const deleted = queue.deleteWaiting(count, before instanceof Date ? before.getTime() : nowMs, nowMs, sessionId);
    return deleted === 0 ? empty : { status: 200, body: { 'message-count': amqpValue.int(deleted) } };
  },
};

/** Answers one `$management` request. Throws BrokerError; an unknown operation is answered with 501. */
export function manage(
  request: ManagementRequest,
  { broker, holderOf }: ManagementParts,
  nowMs: number,
): ManagementReply {
  const name = request.operation.startsWith(prefix) ? request.operation.slice(prefix.length) : request.operation;
  const operation = operations[name];
  if (operation === undefined) {
    return {
      status: 501,
      condition: 'amqp:not-implemented',
      description: `The operation '${request.operation}' does not exist.`,
    };
  }
  const { entity, address } = broker.resolve(request.address, 'manage', nowMs);
  const queue = entity.queue(address.subQueue);
  const body = (request.body ?? {}) as Operation['body'];
  const session = (): SessionLock => {
    const sessionId = String(body['session-id']);
    queue.advance(nowMs);
    const lock = queue.store.sessions.get(sessionId)?.lock;
    if (lock === undefined || holderOf(queue, lock) !== request.connection.id) throw sessionLockLost(sessionId);
    return lock;
  };
  return operation({ broker, entity, queue, body, nowMs, session });
}

function renewLocks({ queue, body, nowMs }: Operation): ManagementReply {
  const locks = tokens(body['lock-tokens']).map((token) => queue.lockOf(token, nowMs));
  const expirations = locks.map((lock) => queue.renew(lock, nowMs));
  return { status: 200, body: { expirations: amqpValue.array('timestamp', expirations) } };
}

function peekMessages({ queue, body, nowMs }: Operation): ManagementReply {
  const from = integerOf(body['from-sequence-number']) ?? 0;
  const count = Math.min(integerOf(body['message-count']) ?? 1, maxPeek);
  const messages = queue.peek(from, count, nowMs, text(body['session-id']));
  if (messages.length === 0) return empty;
  return {
    status: 200,
    body: { messages: amqpValue.list(messages.map((message) => ({ message: encodedMessage(message) }))) },
  };
}

function scheduleMessages({ broker, entity, body, nowMs }: Operation): ManagementReply {
  const contents = items(body['messages']).map((item) => {
    const encoded = item['message'];
    if (!Buffer.isBuffer(encoded))
      throw new BrokerError('invalid-argument', 'A scheduled message has no binary content.');
    return decodeContent(encoded);
  });
  const numbers = broker.schedule(entity, contents, nowMs);
  return { status: 200, body: { 'sequence-numbers': amqpValue.array('long', numbers) } };
}

function receiveDeferred({ queue, body, nowMs, session }: Operation): ManagementReply {
  const numbers = integers(body['sequence-numbers']);
  const isLocked = integerOf(body['receiver-settle-mode']) === 1;
  if (!isLocked) {
    const removed = queue.removeDeferred(numbers, nowMs);
    return {
      status: 200,
      body: { messages: amqpValue.list(removed.map((message) => ({ message: encodedMessage(message) }))) },
    };
  }
  const owner = queue.hasSessions ? session() : undefined;
  const received = queue.lockDeferred(numbers, nowMs, owner).map((lock) => ({
    'lock-token': amqpValue.uuid(Buffer.from(lock.token, 'hex')),
    message: amqpValue.binary(encodeLockedDelivery(lock)),
  }));
  return { status: 200, body: { messages: amqpValue.list(received) } };
}

function updateDisposition({ queue, body, nowMs }: Operation): ManagementReply {
  const status = body['disposition-status'];
  const changes = userChanges(body['properties-to-modify'] as Readonly<Record<string, unknown>> | undefined);
  const locks = tokens(body['lock-tokens']).map((token) => queue.lockOf(token, nowMs));
  for (const lock of locks) {
    if (status === 'completed') queue.complete(lock, nowMs);
    else if (status === 'abandoned') queue.abandon(lock, nowMs, changes);
    else if (status === 'defered') queue.defer(lock, nowMs, changes);
    else if (status === 'suspended') {
      const reason = text(body['deadletter-reason']) ?? '';
      const description = text(body['deadletter-description']) ?? '';
      queue.deadLetter(lock, nowMs, { reason, description, ...(changes !== undefined && { changes }) });
    } else throw new BrokerError('invalid-argument', `The disposition '${String(status)}' does not exist.`);
  }
  return ok;
}

/** Lists sessions with messages, or those whose state changed after a time the client names. */
function listSessions({ queue, body }: Operation): ManagementReply {
  const skip = integerOf(body['skip']) ?? 0;
  const since = body['last-updated-time'];
  const sinceMs = since instanceof Date ? since.getTime() : Infinity;
  const ids = [...queue.store.sessions.all()]
    .filter((session) => session.messages > 0 || session.updatedAtMs > sinceMs)
    .map((session) => session.id)
    .slice(skip, skip + (integerOf(body['top']) ?? 100));
  if (ids.length === 0) return empty;
  return {
    status: 200,
    body: { skip: amqpValue.int(skip + ids.length), 'sessions-ids': amqpValue.array('string', ids) },
  };
}

function subscription(entity: Entity): Entity {
  if (entity.description.kind === 'subscription') return entity;
  throw new BrokerError('not-allowed', `'${entity.path}' is not a subscription and has no rules.`);
}

function encodedMessage(message: BrokerMessage): unknown {
  return amqpValue.binary(Buffer.concat(encodeDelivery(message)));
}

function items(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : [];
}

function integers(value: unknown): number[] {
  return (Array.isArray(value) ? value : []).map((item) => integerOf(item) ?? -1);
}

function tokens(value: unknown): string[] {
  return (Array.isArray(value) ? value : []).map((item) =>
    Buffer.isBuffer(item) ? item.toString('hex') : String(item).replaceAll('-', ''),
  );
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
