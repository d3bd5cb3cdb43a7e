import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Broker } from '../broker/broker.js';
import type { BrokerLog } from '../broker/broker-log.js';
import type { Entity } from '../broker/entity.js';
import type { MessageContent, MessageLock, SessionLock } from '../broker/message.js';
import { PlainContent } from '../broker/plain-content.test.fixture.js';
import { BrokerRestore } from './broker-restore.js';
import { encodeRecord, replayRecord, type ContentCodec } from './record-codec.js';

const maxDeliveryCount = 3;
const lockDurationMs = 100;
const options = { maxBytes: 10_000_000, createOnFirstUse: false };
const quiet = { onAvailable: () => undefined, onDeadline: () => undefined };

/** Stores a plain content by its id, with the reason of a dead letter: enough to compare a restored broker with the one that was. */
const codec: ContentCodec = {
  encode: (content) =>
    Buffer.from(
      JSON.stringify(
        [
          content.messageId,
          content.sessionId ?? null,
          content.user('DeadLetterReason') ?? null,
          content.user('tries') ?? null,
        ].map(String),
      ),
    ),
  decode: (encoded): MessageContent => {
    const [id = '', sessionId, reason, tries] = JSON.parse(encoded.toString()) as string[];
    const user = { ...(reason !== 'null' && { DeadLetterReason: reason }), ...(tries !== 'null' && { tries }) };
    return new PlainContent({ id, ...(sessionId !== undefined && sessionId !== 'null' && { sessionId }), user });
  },
};

function recordingLog(records: Buffer[]): BrokerLog {
  const add = (record: string | readonly [string, Buffer]): void => {
    records.push(typeof record === 'string' ? Buffer.from(record) : Buffer.concat([Buffer.from(record[0]), record[1]]));
  };
  return {
    entity: (description) => add(encodeRecord.entity(description)),
    entityDeleted: (path) => add(encodeRecord.entityDeleted(path)),
    message: (queue, message) => add(encodeRecord.message(queue, message, codec)),
    removed: (queue, number) => add(encodeRecord.removed(queue, number)),
    delivered: (queue, number) => add(encodeRecord.delivered(queue, number)),
    returned: (queue, number, count) => add(encodeRecord.returned(queue, number, count)),
    sessionState: (queue, sessionId, state) => add(encodeRecord.sessionState(queue, sessionId, state)),
    seen: (entity, messageId, atMs) => add(encodeRecord.seen(entity, messageId, atMs)),
  };
}

type Command =
  | {
      readonly kind: 'send';
      readonly session: number;
      readonly delayMs: number;
      readonly lifetimeMs: number | undefined;
    }
  | {
      readonly kind:
        | 'receive'
        | 'complete'
        | 'abandon'
        | 'defer'
        | 'deadLetter'
        | 'renew'
        | 'receiveDeferred'
        | 'giveBack'
        | 'delete'
        | 'drainDead';
      readonly pick: number;
    }
  | { readonly kind: 'session' | 'release' | 'state'; readonly pick: number }
  | { readonly kind: 'wait'; readonly ms: number };

const pick = fc.nat(5);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      session: fc.nat(2),
      delayMs: fc.constantFrom(0, 0, 0, 50, 150),
      lifetimeMs: fc.constantFrom(undefined, undefined, 80, 200),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'receive' as const,
        'receive' as const,
        'receive' as const,
        'receive' as const,
        'receive' as const,
        'complete' as const,
        'abandon' as const,
        'abandon' as const,
        'defer' as const,
        'deadLetter' as const,
        'renew' as const,
        'receiveDeferred' as const,
        'giveBack' as const,
        'delete' as const,
        'drainDead' as const,
      ),
      pick,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('session' as const, 'release' as const, 'state' as const), pick }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 30, 60, 120) }) },
);

/** Runs commands against one queue and keeps account of every message that was accepted. */
class Simulation {
  readonly records: Buffer[] = [];
  readonly broker: Broker;
  readonly queue: Entity;
  readonly #locks: MessageLock[] = [];
  readonly #sessions: SessionLock[] = [];
  readonly #hasSessions: boolean;
  readonly #gone = new Set<string>();
  #sent = 0;
  #now = 1;

  constructor(hasSessions: boolean) {
    this.#hasSessions = hasSessions;
    this.broker = new Broker(options, { log: recordingLog(this.records), ...quiet });
    const settings = {
      maxDeliveryCount,
      lockDurationMs,
      requiresSession: hasSessions,
      deadLetteringOnMessageExpiration: true,
    };
    this.queue = this.broker.entities.create({ kind: 'queue', path: 'q', options: settings }, 0);
  }

  get now(): number {
    return this.#now;
  }

  run(next: Command): void {
    const { main } = this.queue;
    switch (next.kind) {
      case 'send':
        return this.#send(next);
      case 'wait':
        this.#now += next.ms;
        this.broker.advance(this.#now);
        return;
      case 'receive': {
        const session = this.#hasSessions ? this.#sessions[next.pick % 3] : undefined;
        if (this.#hasSessions && session === undefined) return;
        const expected = this.#firstWaiting(session?.sessionId);
        const lock = main.lockNext(this.#now, session);
        if (lock !== undefined) {
          assert.equal(lock.message.sequenceNumber, expected);
          this.#locks.unshift(lock);
          this.#locks.length = Math.min(this.#locks.length, 6);
        }
        return;
      }
      case 'session': {
        if (!this.#hasSessions) return;
        const held = this.#sessions
          .filter((lock) => main.isSessionHeld(lock, this.#now))
          .map(({ sessionId }) => sessionId);
        const lock = main.lockSession(undefined, this.#now);
        if (lock === undefined) return;
        assert(!held.includes(lock.sessionId));
        // Few are remembered, so that commands mostly meet sessions that are held.
        this.#sessions.unshift(lock);
        this.#sessions.length = Math.min(this.#sessions.length, 3);
        return;
      }
      case 'release': {
        const session = this.#sessions[next.pick % 3];
        if (session !== undefined) main.releaseSession(session, this.#now);
        return;
      }
      case 'state':
        if (this.#hasSessions)
          main.setSessionState(`s${next.pick % 3}`, next.pick === 0 ? undefined : Buffer.from([next.pick]), this.#now);
        return;
      default:
        this.#settle(next.kind, next.pick);
    }
  }

  #send({ session, delayMs, lifetimeMs }: Extract<Command, { kind: 'send' }>): void {
    this.#sent += 1;
    const content = new PlainContent({
      id: `m${this.#sent}`,
      ...(this.#hasSessions && { sessionId: `s${session}` }),
      ...(delayMs > 0 && { scheduledAtMs: this.#now + delayMs }),
      ...(lifetimeMs !== undefined && { timeToLiveMs: lifetimeMs }),
    });
    this.broker.send(this.queue, [content], this.#now);
  }

  /** Applies a settlement. Exactly the locks that are still held succeed. */
  #settle(kind: Exclude<Command, { ms: number } | { session: number }>['kind'], at: number): void {
    const { main, deadLetters } = this.queue;
    if (kind === 'drainDead') {
      const removed = deadLetters.removeNext(this.#now);
      if (removed !== undefined) this.#leave(removed.content);
      return;
    }
    if (kind === 'delete') {
      const before = new Map(
        main.peek(0, 1_000, this.#now).map((message) => [message.sequenceNumber, message.content]),
      );
      main.deleteWaiting(1, this.#now, this.#now);
      for (const [number, content] of before) if (main.store.index.get(number) === undefined) this.#leave(content);
      return;
    }
    if (kind === 'receiveDeferred') {
      const deferred = main
        .peek(0, 1_000, this.#now)
        .find((message) => message.state === 'deferred' && message.lock === undefined);
      const session = this.#sessions.find(
        (lock) => lock.sessionId === deferred?.content.sessionId && main.isSessionHeld(lock, this.#now),
      );
      if (deferred === undefined || (this.#hasSessions && session === undefined)) return;
      if (deferred.expiresAtMs <= this.#now)
        assert.throws(() => main.lockDeferred([deferred.sequenceNumber], this.#now), /No message/);
      else this.#locks.push(...main.lockDeferred([deferred.sequenceNumber], this.#now, session));
      return;
    }
    const lock = this.#locks[at];
    if (lock === undefined) return;
    if (kind === 'giveBack') {
      main.giveBack(lock, this.#now);
      return;
    }
    main.advance(this.#now);
    const isHeld = lock.message.lock === lock;
    const settle = (): void => {
      if (kind === 'complete') main.complete(lock, this.#now);
      else if (kind === 'abandon')
        main.abandon(lock, this.#now, { system: new Map(), user: new Map([['tries', 'some']]) });
      else if (kind === 'defer') main.defer(lock, this.#now);
      else if (kind === 'deadLetter') main.deadLetter(lock, this.#now, { reason: 'asked', description: '' });
      else if (lock.session === undefined) main.renew(lock, this.#now);
    };
    if (!isHeld && (kind !== 'renew' || lock.session === undefined)) {
      assert.throws(settle, /lock/);
      return;
    }
    settle();
    if (kind === 'complete') this.#leave(lock.message.content);
  }

  #leave(content: MessageContent): void {
    assert(!this.#gone.has(content.messageId));
    this.#gone.add(content.messageId);
  }

  #firstWaiting(sessionId: string | undefined): number | undefined {
    return this.queue.main
      .peek(0, 1_000, this.#now)
      .find(
        (message) =>
          message.state === 'active' && message.lock === undefined && message.content.sessionId === sessionId,
      )?.sequenceNumber;
  }

  /** Every accepted message is either gone by an order of ours or in exactly one place, and the counters agree with the messages. */
  check(): void {
    const { main, deadLetters } = this.queue;
    const messages = [...main.store.index.from(0), ...deadLetters.store.index.from(0)];
    const ids = messages.map((message) => message.content.messageId);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(ids.length + this.#gone.size, this.#sent);
    const counts = { active: 0, locked: 0, deferred: 0, scheduled: 0 };
    for (const message of main.store.index.from(0)) {
      const state = message.lock === undefined ? message.state : 'locked';
      if (state !== 'removed') counts[state] += 1;
      assert(message.deliveryCount < maxDeliveryCount);
    }
    assert.deepEqual(main.store.counts, counts);
    const stateBytes = [...main.store.sessions.all()].reduce((bytes, { state }) => bytes + (state?.length ?? 0), 0);
    assert.equal(this.broker.usedBytes, messages.length * 612 + stateBytes);
  }
}

/** What must survive a restart. A lock does not: its delivery counts, and at the maximum the message is dead-lettered. */
function durableState(entity: Entity): unknown {
  const messages = [...entity.main.store.index.from(0)].map((message) => {
    const count = message.deliveryCount + (message.lock === undefined ? 0 : 1);
    return [
      message.content.messageId,
      message.state,
      count,
      message.expiresAtMs,
      message.activatesAtMs,
      message.sequenceNumber,
    ];
  });
  const states = [...entity.main.store.sessions.all()]
    .filter((session) => session.state)
    .map((session) => [session.id, session.state?.[0]] as const);
  return {
    alive: messages.filter(([, , count]) => Number(count) < maxDeliveryCount),
    dead: [
      ...[...entity.deadLetters.store.index.from(0)].map((message) => message.content.messageId),
      ...messages.filter(([, , count]) => Number(count) >= maxDeliveryCount).map(([id]) => String(id)),
    ].toSorted((left, right) => left.localeCompare(right)),
    states: new Map(states),
  };
}

describe.each([false, true])('a broker with sessions: %s', (hasSessions) => {
  it('loses nothing, keeps order and refuses lost locks, in any order of commands; a restart at any time restores it', () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 20, maxLength: 120 }), (commands) => {
        const simulation = new Simulation(hasSessions);
        for (const next of commands) {
          simulation.run(next);
          simulation.check();
        }
        const restore = new BrokerRestore();
        for (const record of simulation.records) replayRecord(record, restore, codec);
        const log: Buffer[] = [];
        const restored = new Broker(options, { log: recordingLog(log), ...quiet });
        restore.finish(restored, 0);
        const queue = restored.entities.get('q');
        if (queue === undefined) throw new Error('the queue was not restored');
        expect(durableState(queue)).toEqual(durableState(simulation.queue));
        expect(queue.settings).toEqual(simulation.queue.settings);
        expect(queue.main.store.counts.locked).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
