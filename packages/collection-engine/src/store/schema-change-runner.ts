import { isCodedError } from '@drover/contracts';
import { isRefusedByServer, type Database } from '@drover/database';
import { WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { compileCollection } from '../model/compile-collection.js';
import type { ChangeRefusal } from '../schema-change/change-plan.js';
import { ChangeRun } from '../schema-change/change-run.js';
import { cleanUpTable, dropTable, removeKeys } from '../schema-change/clean-up.js';
import { loosenConstraints, prepareChange } from '../schema-change/run-change.js';
import { changeStatements } from './change-rows.js';
import type {
  ChangeInProgress,
  CollectionChanges,
  RequestedSet,
  StartedSet,
  SwitchOutcome,
} from './collection-changes.js';
import { collectionStatements as statements, toCollection, type CollectionRow } from './collection-rows.js';
import { CollectionLockSession } from './collection-lock-session.js';
import type { SchemaChangeObservation } from './schema-change-observations.js';

export interface SchemaChangeRunnerOptions {
  readonly database: Database;
  /** Opens a connection for each change. Its statement timeout bounds the build of an index, so it must be long. */
  readonly sessions: Pick<Database, 'dedicatedConnection'>;
  readonly changes: CollectionChanges;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<SchemaChangeObservation>;
  /** Interval of looks for work while there is some, and for what was not possible at the last look. */
  readonly pollMs?: number;
}

/** Interval while there is nothing to do: changes of this replica wake it, those of a killed one wait this long. */
const idlePollMs = 5_000;
/** Changes and clean-ups at a time; each has a connection. */
const maxConcurrent = 4;

/**
 * Carries out changes of collections and cleans up after them. Every replica of the control plane has one; a lock makes sure that one
 * of them works on a collection. What a killed process was doing goes on when its connection has ended.
 */
export class SchemaChangeRunner implements Lifecycle {
  readonly name = 'schema changes';
  readonly #options: SchemaChangeRunnerOptions;
  readonly #pollMs: number;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  /** By collection or table. */
  readonly #active = new Map<string, Promise<void>>();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: SchemaChangeRunnerOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? 1_000;
  }

  start(): Promise<void> {
    this.#loop = this.#work();
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('the runner of schema changes was stopped'));
    await this.#loop;
    await Promise.all(this.#active.values());
  }

  /** Starts changes and looks for work at once; see `CollectionChanges.requestSet`. */
  async requestSet(request: RequestedSet): Promise<StartedSet> {
    const started = await this.#options.changes.requestSet(request);
    this.#wakeUp.notify();
    return started;
  }

  async #work(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#wakeUp.reset();
      const isIdle = await this.#look().catch(() => false); // the database is away, which its probe reports
      await this.#wakeUp.wait(this.#options.clock, isIdle ? Math.max(idlePollMs, this.#pollMs) : this.#pollMs, signal);
    }
  }

  /** Begins what there is to do. Resolves to true if there is nothing, also nothing that another replica works on. */
  async #look(): Promise<boolean> {
    const { database } = this.#options;
    const running = await database.query<{ id: string }>(changeStatements.allRunning);
    for (const { id } of running) this.#begin(id, () => this.#change(id));
    const due = await database.query<{ table_name: string; collection_id: string }>(changeStatements.dueCleanups);
    for (const { table_name, collection_id } of due) {
      this.#begin(table_name, () => this.#cleanUp(table_name, collection_id));
    }
    return running.length === 0 && due.length === 0;
  }

  /** After work that was done there may be more; what was not possible is tried again at the next interval. */
  #begin(key: string, work: () => Promise<boolean>): void {
    if (this.#active.has(key) || this.#active.size >= maxConcurrent) return;
    const running = work().then((isDone) => {
      this.#active.delete(key);
      if (isDone) this.#wakeUp.notify();
    });
    this.#active.set(key, running);
  }

  async #change(id: string): Promise<boolean> {
    const { changes } = this.#options;
    const found = await changes.inProgress(id).catch(() => undefined);
    if (!found) return false;
    const { collectionId } = found.change;
    return this.#locked(
      collectionId,
      found.planned.after.name,
      async (run) => {
        // Read again: another replica may have gone on until the lock was free.
        const inProgress = await changes.inProgress(id);
        if (inProgress) await this.#carryOut(run, inProgress);
        return true;
      },
      (step, progress) => changes.report(id, step, progress),
    );
  }

  async #carryOut(run: ChangeRun, inProgress: ChangeInProgress): Promise<void> {
    const { changes, clock, observe } = this.#options;
    const { change, planned, isSwitched } = inProgress;
    const { name: collection, version } = planned.after;
    const startedMs = clock.monotonicMs();
    if (!isSwitched) {
      const outcome = await this.#prepareAndSwitch(run, inProgress);
      if (typeof outcome === 'object') {
        await changes.refuse(inProgress, outcome);
        observe({ kind: 'collections.change-refused', collection, reason: outcome.message });
      }
      if (outcome !== 'current') return;
    }
    // At once: the request is answered when they are gone. A worker with the version before enforces what it can by itself.
    if (planned.loosened.indexes.length + planned.loosened.gates.length > 0) await loosenConstraints(run, planned);
    await changes.end(change.id);
    observe({ kind: 'collections.changed', collection, version, durationMs: clock.monotonicMs() - startedMs });
  }

  async #prepareAndSwitch(run: ChangeRun, inProgress: ChangeInProgress): Promise<SwitchOutcome | ChangeRefusal> {
    const refusal = await prepareChange(run, inProgress.planned).catch(toRefusal);
    if (refusal) return refusal;
    await run.report('Make the new version current');
    return this.#options.changes.makeCurrent(inProgress).catch(toRefusal);
  }

  async #cleanUp(table: string, collectionId: string): Promise<boolean> {
    const { database, observe } = this.#options;
    return this.#locked(collectionId, table, async (run) => {
      // A change that ended meanwhile has put it off: workers use what the version before it needs.
      const due = await database.query(changeStatements.isCleanupDue, [table]);
      if (due.length === 0) return false;
      const [row] = await database.query<CollectionRow>(statements.findById, [collectionId]);
      if (!row) {
        await dropTable(run, table);
      } else {
        const running = await database.query(changeStatements.running, [collectionId]);
        if (running.length > 0) return false; // what it has made is in no definition yet
        await this.#cleanUpCollection(run, row);
      }
      await database.query(changeStatements.endCleanup, [table]);
      observe({ kind: 'collections.cleaned-up', table });
      return true;
    });
  }

  async #cleanUpCollection(run: ChangeRun, row: CollectionRow): Promise<void> {
    const { database } = this.#options;
    const collection = compileCollection(toCollection(row));
    await cleanUpTable(run, collection);
    if (collection.storageMode !== 'JSONB') return;
    const taken = await database.query<{ column: string }>(statements.takenColumns, [row.id]);
    const [cleaned] = await database.query<{ cleaned_columns: string[] }>(changeStatements.cleanedColumns, [row.id]);
    const kept = new Set([...Object.values(row.columns), ...(cleaned?.cleaned_columns ?? [])]);
    const keys = taken.map(({ column }) => column).filter((column) => !kept.has(column));
    await removeKeys(run, collection, keys);
    await database.query(changeStatements.addCleanedColumns, [row.id, keys]);
  }

  /** Runs `work` if no other process works on the collection. A failure is recorded, and the next look tries again. */
  async #locked(
    collectionId: string,
    about: string,
    work: (run: ChangeRun) => Promise<boolean>,
    report: ConstructorParameters<typeof ChangeRun>[0]['report'] = () => Promise.resolve(),
  ): Promise<boolean> {
    const { sessions, clock, randomness } = this.#options;
    const session = new CollectionLockSession(sessions, `drover.collection ${collectionId}`);
    const { signal } = this.#closing;
    const end = (): void => void session.stop();
    signal.addEventListener('abort', end, { once: true });
    try {
      return (await session.lock()) && (await work(new ChangeRun({ session, clock, randomness, signal, report })));
    } catch (error) {
      if (!signal.aborted) this.#interrupted(about, error);
      return false;
    } finally {
      signal.removeEventListener('abort', end);
      await session.stop();
    }
  }

  #interrupted(collection: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.observe({ kind: 'collections.change-interrupted', collection, reason });
  }
}

/** What PostgreSQL refuses because of the records, or the catalog because of other collections, they would refuse again. Other failures pass. */
function toRefusal(error: unknown): ChangeRefusal {
  if (isCodedError(error) && error.fault === 'caller') return { path: '', message: error.message };
  if (!isRefusedByServer(error) || !(error instanceof Error)) throw error;
  return {
    path: '',
    message: `PostgreSQL refuses the change: ${error.message}. Change the records, or the definition.`,
  };
}
