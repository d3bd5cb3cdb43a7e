import { defineTopic, type PublishedEvent } from '@drover/contracts';
import { prepared, type Database, type Queryable } from '@drover/database';
import Type from 'typebox';
import type { EventBus } from '../../event-bus.js';

/** What the publisher process publishes. An attempt is one transaction: a repeated generation has another one. */
export const ledgerEntries = defineTopic('test.ledger', {
  about: 'Rows of a ledger, published in the transaction that wrote them',
  schema: Type.Object({ attempt: Type.String() }),
});

export const ledgerKeys = ['a', 'b', 'c', 'd'];

/** What a child process works with. */
export interface OpenedBus {
  readonly bus: EventBus;
  /** Of the store that holds the outbox, and so the ledger. */
  readonly database: Database;
}

/** A row of the ledger: exists exactly when the transaction that published the event was committed. */
export interface LedgerRow {
  readonly key: string;
  readonly generation: number;
  readonly attempt: string;
}

/** One call of the subscriber's handler that came to its end, in the order of their ends. */
export interface HandledRow extends LedgerRow {
  readonly position: number;
  readonly handledBy: string;
  readonly handledAt: Date;
}

export async function createLedger(target: Queryable): Promise<void> {
  await target.query(`create table ledger (
    key text not null, generation bigint not null, attempt text not null, primary key (key, generation))`);
  await target.query(`create table handled (
    id bigint generated always as identity primary key, position bigint not null, key text not null,
    generation bigint not null, attempt text not null, handled_by text not null,
    handled_at timestamptz not null default clock_timestamp())`);
}

const enterStatement = prepared('ledger-enter', 'insert into ledger (key, generation, attempt) values ($1, $2, $3)');
const handledStatement = prepared(
  'ledger-handled',
  'insert into handled (position, key, generation, attempt, handled_by) values ($1, $2, $3, $4, $5)',
);

/** The primary key is the lock that keeps two transactions for the same key apart, also across a publisher's death. */
export async function enter(target: Queryable, { key, generation, attempt }: LedgerRow): Promise<void> {
  await target.query(enterStatement, [key, generation, attempt]);
}

export async function nextGeneration(target: Queryable, key: string): Promise<number> {
  const [row] = await target.query<{ next: number }>(
    'select coalesce(max(generation), 0) + 1 as next from ledger where key = $1',
    [key],
  );
  return row?.next ?? 1;
}

export async function recordHandled(target: Queryable, event: PublishedEvent, handledBy: string): Promise<void> {
  const { attempt } = event.payload as { attempt: string }; // the topic's schema, written by the publisher process
  await target.query(handledStatement, [event.position, event.key, event.generation, attempt, handledBy]);
}

/** How many rows of the ledger no handler has seen. */
export async function countMissing(target: Queryable): Promise<number> {
  const [row] = await target.query<{ missing: number }>(
    'select count(*) as missing from ledger where attempt not in (select attempt from handled)',
  );
  return row?.missing ?? 0;
}

export async function readLedger(target: Queryable): Promise<LedgerRow[]> {
  return target.query<LedgerRow & object>('select key, generation, attempt from ledger order by key, generation');
}

export async function readHandled(target: Queryable): Promise<HandledRow[]> {
  return target.query<HandledRow & object>(
    `select position, key, generation, attempt, handled_by as "handledBy", handled_at as "handledAt"
     from handled order by id`,
  );
}
