import { beforeEach, describe, expect, it } from 'vitest';
import type { ManagementReply } from '../../amqp/amqp-service.js';
import { decodeValue, encodeValue } from '../../amqp/values.js';
import { Broker } from '../broker/broker.js';
import { noLog } from '../broker/plain-content.test.fixture.js';
import { encodeTyped } from '../message-text.js';
import { manage } from './management.js';

const connection = { id: 1, containerId: 'client', userAgent: undefined };
let broker: Broker;

beforeEach(() => {
  broker = new Broker(
    { maxBytes: 1e6, createOnFirstUse: false },
    { log: noLog, onAvailable: () => undefined, onDeadline: () => undefined },
  );
  broker.entities.create({ kind: 'queue', path: 'orders', options: {} }, 0);
  broker.entities.create({ kind: 'queue', path: 'jobs', options: { requiresSession: true } }, 0);
});

function send(path: string, sessionId: string | undefined, atMs: number): void {
  const entity = broker.entities.get(path);
  if (entity === undefined) throw new Error(path);
  broker.send(entity, [encodeTyped({ body: 'x', ...(sessionId !== undefined && { sessionId }) })], atMs);
}

function ask(address: string, name: string, body: Record<string, unknown>, holder = 1): ManagementReply {
  const request = {
    address: `${address}/$management`,
    operation: `com.microsoft:${name}`,
    properties: {},
    body,
    connection,
  };
  return manage(request, { broker, holderOf: () => holder }, 100);
}

/** The body as a client decodes it. */
const decoded = (reply: ManagementReply): unknown => decodeValue(encodeValue(reply.body));

describe('management requests that the tested SDK does not send', () => {
  it('delete waiting messages up to a count and a time, also of one session', () => {
    for (const atMs of [1, 2, 3]) send('orders', undefined, atMs);
    const before = (ms: number): Record<string, unknown> => ({
      'message-count': 10,
      'enqueued-time-utc': new Date(ms),
    });
    expect(decoded(ask('orders', 'batch-delete-messages', before(2)))).toEqual({ 'message-count': 2 });
    expect(ask('orders', 'batch-delete-messages', before(2))).toEqual({ status: 204 });
    send('jobs', 's1', 1);
    send('jobs', 's2', 1);
    expect(decoded(ask('jobs', 'batch-delete-messages', { ...before(5), 'session-id': 's2' }))).toEqual({
      'message-count': 1,
    });
    expect(broker.entities.get('jobs')?.main.store.sessions.get('s1')?.messages).toBe(1);
  });

  it('list sessions with messages page by page, or those whose state has changed', () => {
    for (const session of ['a', 'b', 'c']) send('jobs', session, 1);
    expect(decoded(ask('jobs', 'get-message-sessions', { skip: 0, top: 2 }))).toEqual({
      skip: 2,
      'sessions-ids': ['a', 'b'],
    });
    expect(decoded(ask('jobs', 'get-message-sessions', { skip: 2, top: 2 }))).toEqual({
      skip: 3,
      'sessions-ids': ['c'],
    });
    expect(ask('jobs', 'get-message-sessions', { skip: 3, top: 2 })).toEqual({ status: 204 });
    broker.entities.get('jobs')?.main.setSessionState('d', Buffer.from('x'), 50);
    const changed = ask('jobs', 'get-message-sessions', { 'last-updated-time': new Date(10), skip: 3, top: 9 });
    expect(decoded(changed)).toEqual({ skip: 4, 'sessions-ids': ['d'] });
  });

  it('act on a session for its holder only', () => {
    send('jobs', 's', 1);
    broker.entities.get('jobs')?.main.lockSession('s', 1);
    expect(ask('jobs', 'renew-session-lock', { 'session-id': 's' }).status).toBe(200);
    const lost = expect.objectContaining({ code: 'session-lock-lost' });
    expect(() => ask('jobs', 'renew-session-lock', { 'session-id': 's' }, 2)).toThrow(lost);
    expect(() => ask('jobs', 'set-session-state', { 'session-id': 'none', 'session-state': null })).toThrow(lost);
  });

  it('delete deferred messages that are received in the mode that deletes', () => {
    send('orders', undefined, 1);
    const { main } = broker.entities.get('orders') ?? {};
    const lock = main?.lockNext(1);
    if (main === undefined || lock === undefined) throw new Error('no message');
    main.defer(lock, 1);
    const reply = ask('orders', 'receive-by-sequence-number', { 'sequence-numbers': [1], 'receiver-settle-mode': 0 });
    expect(decoded(reply)).toMatchObject({ messages: [{ message: expect.any(Buffer) }] });
    expect(main.store.index.size).toBe(0);
  });

  it('that do not exist are refused', () => {
    expect(ask('orders', 'fly-to-the-moon', {})).toMatchObject({ status: 501, condition: 'amqp:not-implemented' });
    expect(() => ask('none', 'peek-message', {})).toThrow(expect.objectContaining({ code: 'entity-not-found' }));
    expect(() => ask('orders', 'add-rule', {})).toThrow('has no rules');
    expect(() =>
      ask('orders', 'update-disposition', { 'lock-tokens': [Buffer.alloc(16)], 'disposition-status': 'completed' }),
    ).toThrow(expect.objectContaining({ code: 'message-lock-lost' }));
    expect(() => ask('orders', 'schedule-message', { messages: [{}] })).toThrow('no binary content');
  });
});
