import { createHash } from 'node:crypto';
import type { Queryable } from '@drover/database';
import type { Sql } from './sql.js';

interface PreparedStatementsOptions {
  readonly capacity?: number;
  readonly idleRuns?: number;
  readonly onReplaced?: (name: string) => void;
}

/**
 * Runs statements, and prepares those whose text comes again: PostgreSQL then parses and plans them once per connection. The text of
 * a statement depends on the shape of a request and not on its values, so few texts serve most requests.
 *
 * - A text that runs for the first time has no name; it gets one with its second run.
 * - At most `capacity` texts have a name, because each takes memory in every connection for as long as the connection lives.
 * - A new text replaces the one that has been idle longest, if that was for `idleRuns` statements; otherwise it runs without a name.
 *   So clients that send ever new shapes cannot fill the memory of PostgreSQL, and a changed definition gets its names in time.
 *   `onReplaced` is told the name, which the connections can drop then.
 */
export class PreparedStatements {
  /** Texts with a name, the one that has been idle longest first. */
  readonly #named = new Map<string, { readonly name: string; lastRun: number }>();
  /** Texts that ran once, oldest first. */
  readonly #seen = new Set<string>();
  readonly #capacity: number;
  readonly #idleRuns: number;
  readonly #onReplaced: (name: string) => void;
  #runs = 0;

  constructor({ capacity = 300, idleRuns = 50_000, onReplaced = () => undefined }: PreparedStatementsOptions = {}) {
    this.#capacity = capacity;
    this.#idleRuns = idleRuns;
    this.#onReplaced = onReplaced;
  }

  run<R extends object>(target: Queryable, statement: Sql): Promise<R[]> {
    const { text, values } = statement.render();
    return this.runText(target, text, values);
  }

  /** Runs a statement that was rendered before, with other values. */
  runText<R extends object>(target: Queryable, text: string, values: readonly unknown[]): Promise<R[]> {
    const name = this.#nameOf(text);
    return target.query<R>(name === undefined ? text : { name, text }, values);
  }

  #nameOf(text: string): string | undefined {
    this.#runs += 1;
    const entry = this.#named.get(text);
    if (entry) {
      entry.lastRun = this.#runs;
      // Moved to the end only now and then: the order is needed to the precision of `idleRuns`.
      if (this.#runs % 64 === 0) {
        this.#named.delete(text);
        this.#named.set(text, entry);
      }
      return entry.name;
    }
    if (!this.#seen.delete(text)) {
      this.#seen.add(text);
      for (const oldest of this.#seen) {
        if (this.#seen.size <= this.#capacity) break;
        this.#seen.delete(oldest);
      }
      return undefined;
    }
    if (!this.#makeRoom()) return undefined;
    const name = `records_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
    this.#named.set(text, { name, lastRun: this.#runs });
    return name;
  }

  /** Returns false if all names are in use. */
  #makeRoom(): boolean {
    if (this.#named.size < this.#capacity) return true;
    for (const [text, { name, lastRun }] of this.#named) {
      if (this.#runs - lastRun < this.#idleRuns) continue;
      this.#named.delete(text);
      this.#onReplaced(name);
      return true;
    }
    return false;
  }
}
