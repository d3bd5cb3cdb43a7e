import { isRefusedByServer } from '@drover/database';
import type { Clock } from '@drover/service-kit';
import type { RecordDatabase } from '../request/record-operation.js';
import { batchSize } from './batch-size.js';
import { runStatement } from './run-statement.js';
import { saveRecords, statementOf, type SavePlan, type SaveRunner } from './save-records.js';
import type { SavedRow } from './save-statement.js';

const instances = new WeakMap<RecordDatabase, SharedSaves>();

/** Returns the one instance for a database: all requests of a process share statements. */
export function sharedSavesOf(request: RecordDatabase, clock: Clock): SharedSaves {
  const database = request.shared ?? request;
  const known = instances.get(database);
  if (known) return known;
  const shared = new SharedSaves(database, clock);
  instances.set(database, shared);
  return shared;
}

/**
 * Whether other requests may be written by the same statement. A repeated key and an upsert depend on what else it writes; a
 * selection, a parent and a source are values of one request.
 */
export const isShareable = ({ kind, isArray, idempotency, which, parent, source }: SavePlan): boolean =>
  !isArray && kind !== 'upsert' && [idempotency, which, parent, source].every((each) => each === undefined);

/** How long a request waits for others while a statement with more records is under way. */
const maxGatherMs = 5;

interface Waiting {
  readonly plan: SavePlan;
  /** The database of the request. */
  readonly own: RecordDatabase;
  readonly resolve: (rows: SavedRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests whose records one statement could save: same model, same shape, same caller. */
interface Group {
  readonly by: SaveRunner;
  waiting: Waiting[];
  /** Statements under way, and how many records they write. */
  running: number;
  records: number;
  /** Ends the wait for further requests. */
  stopGathering: (() => void) | undefined;
}

/**
 * Saves records of requests that arrive at the same moment with one statement: parsing, locks and commit then cost once. A request that
 * finds no statement of its kind under way is written at once, alone; `batchSize` decides about the others.
 *
 * A statement is written whole or not at all. If it has a problem, its requests run again one by one, so that each gets its own
 * answer. `bench:collections`, create with 32 in flight: 150 us of PostgreSQL, a bare insert takes 198.
 */
export class SharedSaves {
  readonly #database: RecordDatabase;
  readonly #clock: Clock;
  /** By text of the statement for one record, which names the table, and by caller. */
  readonly #groups = new Map<string, Map<string, Group>>();

  constructor(database: RecordDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Saves the one record of a plan that `isShareable`; alone on `own`, the database of its request, or with others. */
  save(plan: SavePlan, by: SaveRunner, own: RecordDatabase): Promise<SavedRow[]> {
    const { text } = statementOf(plan);
    const ofText = this.#groups.get(text) ?? new Map<string, Group>();
    const group: Group = ofText.get(by.actor) ?? {
      by,
      waiting: [],
      running: 0,
      records: 0,
      stopGathering: undefined,
    };
    this.#groups.set(text, ofText);
    ofText.set(by.actor, group);
    return new Promise((resolve, reject) => {
      group.waiting.push({ plan, own, resolve, reject });
      this.#start(text, group);
    });
  }

  #start(text: string, group: Group, isOverdue = false): void {
    for (;;) {
      const size = batchSize({ ...group, waiting: group.waiting.length, isOverdue });
      if (size === 0) break;
      this.#run(text, group, takeBatch(group, size));
      group.stopGathering?.();
      group.stopGathering = undefined;
    }
    if (group.waiting.length > 0) {
      group.stopGathering ??= this.#clock.after(maxGatherMs, () => {
        group.stopGathering = undefined;
        this.#start(text, group, true);
      });
    }
    if (group.running > 0) return;
    const ofText = this.#groups.get(text);
    ofText?.delete(group.by.actor);
    if (ofText?.size === 0) this.#groups.delete(text);
  }

  #run(text: string, group: Group, batch: readonly Waiting[]): void {
    group.running += 1;
    group.records += batch.length;
    void this.#saveAll(batch, group.by).finally(() => {
      group.running -= 1;
      group.records -= batch.length;
      this.#start(text, group);
    });
  }

  /** Never rejects. */
  async #saveAll(batch: readonly Waiting[], by: SaveRunner): Promise<void> {
    const [first] = batch;
    if (first === undefined || batch.length === 1) return saveEach(batch, by);
    try {
      const documents = batch.flatMap(({ plan }) => plan.documents);
      const rows = await saveOne({ ...first.plan, isArray: true, documents }, by, this.#database);
      if (rows.some(({ problem }) => problem !== null)) return await saveEach(batch, by);
      for (const row of rows) batch[row.index]?.resolve([{ ...row, index: 0 }]);
    } catch (error) {
      if (isRefusedByServer(error)) return saveEach(batch, by);
      for (const { reject } of batch) reject(error);
    }
  }
}

async function saveEach(batch: readonly Waiting[], by: SaveRunner): Promise<void> {
  await Promise.all(batch.map(({ plan, own, resolve, reject }) => saveOne(plan, by, own).then(resolve, reject)));
}

const saveOne = (plan: SavePlan, by: SaveRunner, database: RecordDatabase): Promise<SavedRow[]> =>
  runStatement(database, (target) => saveRecords(target, plan, by));

/** Takes what one statement can write, at most `size`: no record twice, because each of two changes of it must have its own version and event. */
function takeBatch(group: Group, size: number): readonly Waiting[] {
  const ids = new Set<string>();
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  for (const waiting of group.waiting) {
    const [document] = waiting.plan.documents;
    const isTaken = batch.length < size && document !== undefined && !ids.has(document.id);
    if (isTaken) ids.add(document.id);
    (isTaken ? batch : rest).push(waiting);
  }
  group.waiting = rest;
  return batch;
}
