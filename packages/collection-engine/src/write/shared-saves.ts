import { isRefusedByServer } from '@drover/database';
import type { RecordDatabase } from '../request/record-operation.js';
import { runStatement } from './run-statement.js';
import { saveRecords, statementOf, type SavePlan, type SaveRunner } from './save-records.js';
import type { SavedRow } from './save-statement.js';

const instances = new WeakMap<RecordDatabase, SharedSaves>();

/** Returns the one instance for a database: all requests of a process share statements. */
export function sharedSavesOf(request: RecordDatabase): SharedSaves {
  const database = request.shared ?? request;
  const known = instances.get(database);
  if (known) return known;
  const shared = new SharedSaves(database);
  instances.set(database, shared);
  return shared;
}

/**
 * Whether other requests may be written by the same statement. A repeated key and an upsert depend on what else it writes; a
 * selection, a parent and a source are values of one request.
 */
export const isShareable = ({ kind, isArray, idempotency, which, parent, source }: SavePlan): boolean =>
  !isArray && kind !== 'upsert' && [idempotency, which, parent, source].every((each) => each === undefined);

/** Statements of one shape under way at a time: one writes while the answer of the other is on its way. */
const maxConcurrent = 2;
const maxRecords = 100;

interface Waiting {
  readonly plan: SavePlan;
  readonly resolve: (rows: SavedRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests whose records one statement could save: same model, same shape, same caller. */
interface Group {
  readonly by: SaveRunner;
  waiting: Waiting[];
  running: number;
}

/**
 * Saves records of requests that arrive at the same moment with one statement: parsing, locks and commit then cost once.
 *
 * - A request that finds fewer than two statements of its kind under way is written at once, alone.
 * - Others wait for the next of these two to end, and are then written together.
 *
 * A statement is written whole or not at all. If it has a problem, its requests run again one by one, so that each gets its own
 * answer. `bench:collections`, create with 32 in flight: 150 us of PostgreSQL, a bare insert takes 198.
 */
export class SharedSaves {
  readonly #database: RecordDatabase;
  /** By text of the statement for one record, which names the table, and by caller. */
  readonly #groups = new Map<string, Map<string, Group>>();

  constructor(database: RecordDatabase) {
    this.#database = database;
  }

  /** Saves the one record of a plan that `isShareable`; alone on `own`, the database of its request, or with others. */
  save(plan: SavePlan, by: SaveRunner, own: RecordDatabase): Promise<SavedRow[]> {
    const { text } = statementOf(plan);
    const ofText = this.#groups.get(text) ?? new Map<string, Group>();
    const group = ofText.get(by.actor) ?? { by, waiting: [], running: 0 };
    if (group.running >= maxConcurrent)
      return new Promise((resolve, reject) => {
        group.waiting.push({ plan, resolve, reject });
      });
    this.#groups.set(text, ofText);
    ofText.set(by.actor, group);
    group.running += 1;
    return this.#one(plan, by, own).finally(() => this.#next(text, group));
  }

  #one(plan: SavePlan, by: SaveRunner, database = this.#database): Promise<SavedRow[]> {
    return runStatement(database, (target) => saveRecords(target, plan, by));
  }

  #next(text: string, group: Group): void {
    const batch = takeBatch(group);
    if (batch.length > 0) {
      void this.#saveAll(batch, group.by).finally(() => this.#next(text, group));
      return;
    }
    group.running -= 1;
    if (group.running > 0) return;
    const ofText = this.#groups.get(text);
    ofText?.delete(group.by.actor);
    if (ofText?.size === 0) this.#groups.delete(text);
  }

  /** Never rejects. */
  async #saveAll(batch: readonly Waiting[], by: SaveRunner): Promise<void> {
    const [first] = batch;
    if (first === undefined || batch.length === 1) return this.#saveEach(batch, by);
    try {
      const documents = batch.flatMap(({ plan }) => plan.documents);
      const rows = await this.#one({ ...first.plan, isArray: true, documents }, by);
      if (rows.some(({ problem }) => problem !== null)) return await this.#saveEach(batch, by);
      for (const row of rows) batch[row.index]?.resolve([{ ...row, index: 0 }]);
    } catch (error) {
      if (isRefusedByServer(error)) return this.#saveEach(batch, by);
      for (const { reject } of batch) reject(error);
    }
  }

  async #saveEach(batch: readonly Waiting[], by: SaveRunner): Promise<void> {
    await Promise.all(batch.map(({ plan, resolve, reject }) => this.#one(plan, by).then(resolve, reject)));
  }
}

/** Takes what one statement can write: no record twice, because each of two changes of it must have its own version and event. */
function takeBatch(group: Group): readonly Waiting[] {
  if (group.waiting.length === 0) return group.waiting;
  const ids = new Set<string>();
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  for (const waiting of group.waiting) {
    const [document] = waiting.plan.documents;
    const isTaken = batch.length < maxRecords && document !== undefined && !ids.has(document.id);
    if (isTaken) ids.add(document.id);
    (isTaken ? batch : rest).push(waiting);
  }
  group.waiting = rest;
  return batch;
}
