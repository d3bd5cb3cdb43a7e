import type { SimClock } from '@drover/scale-controller/testing';
import type { Database, Row, Statement, Transaction } from '@drover/database';
import type { StatementEffect } from './sim-statement.js';
import { simStatements } from './sim-statements.js';
import { emptyTables, type SimTable, type SimTables, type SimWrite, type SqlFault } from './sim-tables.js';

export class SimConnectionLost extends Error {}
class SimDeadlock extends Error {}

/**
 * PostgreSQL as far as assignments need it: read committed, locks of rows until the end of the transaction, an advisory lock; a lost
 * connection rolls back, a deadlock starts anew. Sequences are not rolled back.
 */
export class SimDatabase {
  readonly clock: SimClock;
  readonly tables: SimTables = emptyTables();
  readonly faults: ReadonlySet<SqlFault>;
  /** Holder of each locked row and of the advisory lock. */
  readonly locks = new Map<string, SimTransaction>();
  /** Called after each commit that wrote. */
  onCommit: (written: readonly SimWrite[]) => void = () => undefined;
  #sequence = 0;

  /** The part of the transactions that take time. */
  readonly slowShare: number;

  constructor(clock: SimClock, faults: ReadonlySet<SqlFault> = new Set(), slowShare = 0.25) {
    this.clock = clock;
    this.slowShare = slowShare;
    this.faults = faults;
  }

  readonly nextGeneration = (): number => (this.#sequence += 1);

  /** The connections of one process; they are lost when `isAlive` says so. */
  connect(isAlive: () => boolean): Database {
    const transaction = async <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
      for (;;) {
        const tx = new SimTransaction(this, isAlive);
        try {
          const result = await work(tx);
          await tx.commit();
          return result;
        } catch (error) {
          if (!(error instanceof SimDeadlock)) throw error;
        } finally {
          tx.end();
        }
      }
    };
    const query = <R extends object = Row>(statement: Statement | string, values?: readonly unknown[]): Promise<R[]> =>
      transaction((tx) => tx.query<R>(statement, values));
    // Only what the processes call: a class with private members has no other implementation.
    return { transaction, query } as unknown as Database;
  }

  apply(writes: Iterable<SimWrite>): void {
    for (const write of writes) applyTo(this.tables, write);
  }
}

class SimTransaction implements Transaction {
  readonly #database: SimDatabase;
  readonly #isAlive: () => boolean;
  readonly #nowMs: number;
  /** Some are quick and some take time, so that others come in between. */
  readonly #slowness: number;
  readonly #afterCommit: (() => void)[] = [];
  readonly #written = new Map<string, SimWrite>();
  readonly #held = new Set<string>();
  #waiting: (() => void)[] = [];
  #waitsFor: SimTransaction | undefined;

  constructor(database: SimDatabase, isAlive: () => boolean) {
    this.#database = database;
    this.#isAlive = isAlive;
    this.#nowMs = database.clock.nowMs;
    this.#slowness = database.clock.chance(database.slowShare) ? database.clock.between(1, 300) : 0;
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    await this.#pause();
    const name = typeof statement === 'string' ? statement : (statement.name ?? statement.text);
    if (name === 'advisory-lock') {
      while (!this.#lock('advisory')) await this.#wait('advisory');
      return [];
    }
    for (;;) {
      const effect = this.#evaluate(name, values);
      const { writes = [], refersTo = [] } = effect;
      const locks = [...refersTo.map((id) => `collections ${id}`), ...writes.map(lockOf)];
      const taken = locks.find((lock) => !this.#lock(lock));
      if (taken === undefined) {
        for (const write of writes) this.#written.set(lockOf(write), write);
        return effect.rows as R[];
      }
      await this.#wait(taken); // then the statement looks at its rows again, as PostgreSQL does
    }
  }

  afterCommit(action: () => void): void {
    this.#afterCommit.push(action);
  }

  async commit(): Promise<void> {
    await this.#pause();
    const written = [...this.#written.values()];
    this.#database.apply(written);
    this.#written.clear();
    for (const action of this.#afterCommit) action();
    if (written.length > 0) this.#database.onCommit(written);
    this.#release();
    // The process may be gone before it hears of the commit.
    await this.#pause();
  }

  end(): void {
    this.#release();
  }

  #release(): void {
    for (const lock of this.#held) this.#database.locks.delete(lock);
    this.#held.clear();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  #evaluate(name: string, values: readonly unknown[]): StatementEffect {
    const handler = simStatements[name];
    if (!handler)
      throw new Error(`The simulated database does not know the statement ${name}. Add it to simStatements.`);
    const { faults, nextGeneration } = this.#database;
    return handler({ tables: this.#view(), faults, nextGeneration, nowMs: this.#nowMs }, values);
  }

  /** What is committed, with what this transaction has written. */
  #view(): SimTables {
    const { tables } = this.#database;
    if (this.#written.size === 0) return tables;
    const own = new Set([...this.#written.values()].map(({ table }) => table));
    const copy = Object.fromEntries(
      Object.entries(tables).map(([name, rows]) => [name, own.has(name as SimTable) ? new Map(rows as never) : rows]),
    ) as SimTables;
    for (const write of this.#written.values()) applyTo(copy, write);
    return copy;
  }

  #lock(lock: string): boolean {
    const holder = this.#database.locks.get(lock);
    if (holder && holder !== this) return false;
    this.#database.locks.set(lock, this);
    this.#held.add(lock);
    return true;
  }

  async #wait(lock: string): Promise<void> {
    const holder = this.#database.locks.get(lock);
    if (!holder) return;
    for (let other: SimTransaction | undefined = holder; other; other = other.#waitsFor)
      if (other === this) throw new SimDeadlock('deadlock detected');
    this.#waitsFor = holder;
    await new Promise<void>((go) => holder.#waiting.push(go));
    this.#waitsFor = undefined;
    this.#check();
  }

  async #pause(): Promise<void> {
    if (this.#slowness > 0) {
      const { clock } = this.#database;
      await new Promise<void>((resolve) => clock.after(clock.between(0, this.#slowness), resolve));
    }
    this.#check();
  }

  #check(): void {
    if (!this.#isAlive()) throw new SimConnectionLost('The connection was lost.');
  }
}

const lockOf = ({ table, key }: SimWrite): string => `${table} ${key}`;

function applyTo(tables: SimTables, { table, key, row }: SimWrite): void {
  const rows: Map<string, unknown> = tables[table];
  if (row === undefined) rows.delete(key);
  else rows.set(key, row);
}
