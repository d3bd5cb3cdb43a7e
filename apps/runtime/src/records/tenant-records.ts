import {
  changeJson,
  countRecordEvents,
  createRecords,
  defaultRecordLimits,
  eventsSwitchedOff,
  FailedChanges,
  getRecord,
  listRecords,
  runOperations,
  type CollectionModel,
  type OperationDependencies,
  type RecordAnswer,
  type RecordEvent,
  type RecordEventTail,
  type RecordRequest,
  type RecordContext,
  type TriggeredFunction,
} from '@drover/collection-engine';
import { hasCode } from '@drover/contracts';
import { WakeUp, type Clock } from '@drover/service-kit';
import type {
  ChangeFailure,
  CollectionRecords,
  RecordChange,
  RecordChangeBatch,
  RecordWrite,
  TriggerOfCollection,
} from '@drover/trigger-sources';
import { recordOutputInvalid } from '../bindings/errors.js';

/** The checkpoint of a function moves on this often also without changes of its collection. */
const idleMs = 30_000;
/** Failed changes that are read together to be delivered again. */
const replayPage = 100;

interface TenantRecordsParts {
  readonly tail: RecordEventTail;
  readonly dependencies: OperationDependencies;
  readonly clock: Clock;
}

/**
 * The collections of one tenant, for the triggers and bindings of its functions. Bindings run the operations of the records API, so the
 * same rules and limits hold for them; a function may use all collections of its tenant.
 */
export class TenantRecords implements CollectionRecords {
  readonly tenantId: string;
  readonly #tail: RecordEventTail;
  readonly #dependencies: OperationDependencies;
  readonly #clock: Clock;
  readonly #failed: FailedChanges;

  constructor(tenantId: string, { tail, dependencies, clock }: TenantRecordsParts) {
    this.tenantId = tenantId;
    this.#tail = tail;
    this.#dependencies = dependencies;
    this.#clock = clock;
    this.#failed = new FailedChanges(dependencies.database);
  }

  position(): Promise<number> {
    return this.#tail.position();
  }

  async *follow(name: string, after: number, signal: AbortSignal): AsyncGenerator<RecordChangeBatch, void, undefined> {
    const { id } = await this.#withEvents(name);
    for await (const batch of this.#tail.follow({ collectionIds: [id], after, signal, idleMs })) {
      const current = await this.#withEvents(name);
      // Removed and defined again: the caller follows the new one from its last position.
      if (current.id !== id) return;
      const changes = batch.events.map((event) => toChange(current, event));
      yield { changes, upTo: batch.upTo, isTrimmed: batch.isTrimmed && !current.hasHistory };
    }
  }

  async count(
    name: string,
    after: number,
    limit: number,
  ): Promise<{ readonly changes: number; readonly oldestAtMs: number | undefined }> {
    const { database } = this.#dependencies;
    const { id: collectionId } = await this.#find(name);
    const { events, oldest } = await countRecordEvents(database, { collectionId, after, limit });
    return { changes: events, oldestAtMs: oldest?.getTime() };
  }

  async storeFailed(of: TriggerOfCollection, changes: readonly RecordChange[], failure: ChangeFailure): Promise<void> {
    try {
      await this.#failed.store(await this.#functionOf(of), changes, failure);
    } catch (error) {
      if (!hasCode(error, 'COLLECTION_UNKNOWN')) throw error;
    }
  }

  async *replays(
    of: TriggerOfCollection,
    signal: AbortSignal,
  ): AsyncGenerator<readonly RecordChange[], void, undefined> {
    const wakeUp = new WakeUp();
    const unsubscribe = this.#tail.onReplay(() => wakeUp.notify());
    try {
      while (!signal.aborted) {
        wakeUp.reset();
        const found = await this.#failed.replaying(await this.#functionOf(of), replayPage);
        if (found.length > 0) yield found.map((change) => ({ ...change, atMs: this.#clock.now() }));
        else await wakeUp.wait(this.#clock, idleMs, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  async countReplays(of: TriggerOfCollection, limit: number): Promise<number> {
    return (await this.#failed.replaying(await this.#functionOf(of), limit)).length;
  }

  async removeFailed(of: TriggerOfCollection, { position }: RecordChange): Promise<void> {
    await this.#failed.replayed(await this.#functionOf(of), position);
  }

  async get(name: string, id: string): Promise<string | undefined> {
    const collection = await this.#find(name);
    const request = toRequest(collection, { id, query: fieldsOf(collection) });
    try {
      return textOf(await getRecord(this.#context('binding'), collection, request, this.#dependencies));
    } catch (error) {
      if (hasCode(error, 'RECORD_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async list(name: string, query: string): Promise<string> {
    const collection = await this.#find(name);
    const fields = /(?:^|&)fields/.test(query) ? '' : fieldsOf(collection);
    const request = toRequest(collection, { query: [query, fields].filter((part) => part !== '').join('&') });
    const answer = await listRecords(this.#context('binding'), collection, request, this.#dependencies);
    const { data } = JSON.parse(textOf(answer)) as { readonly data: readonly unknown[] }; // the flat shape of a list
    return JSON.stringify(data);
  }

  async write({ functionName, collection: name, operation, key, records }: RecordWrite): Promise<void> {
    const collection = await this.#find(name);
    const context = this.#context(functionName);
    const given = records.map((text) => parseRecord(functionName, name, text));
    if (operation === 'create' || operation === 'upsert') {
      const query = key === undefined ? '' : `on_conflict=${encodeURIComponent(key)}`;
      await createRecords(context, collection, toRequest(collection, { query, body: given }), this.#dependencies);
    } else {
      const operations = given.map(({ id, ...attributes }) =>
        operation === 'delete'
          ? { op: 'remove', ref: { type: collection.name, id } }
          : { op: 'update', data: { type: collection.name, id, attributes } },
      );
      const body = { 'atomic:operations': operations };
      await runOperations(context, toRequest(collection, { body }), this.#dependencies);
    }
    this.#tail.wrote();
  }

  async #functionOf({ application, functionName, collection }: TriggerOfCollection): Promise<TriggeredFunction> {
    const { tenantId } = this;
    const { id: collectionId } = await this.#find(collection);
    const prefix = `${tenantId}/`;
    const name = application.startsWith(prefix) ? application.slice(prefix.length) : application;
    return { tenantId, application: name, functionName, collectionId };
  }

  #find(name: string): Promise<CollectionModel> {
    return this.#dependencies.find(this.tenantId, name);
  }

  async #withEvents(name: string): Promise<CollectionModel> {
    const collection = await this.#find(name);
    if (!collection.hasEvents) throw eventsSwitchedOff({ collection: name });
    return collection;
  }

  #context(functionName: string): RecordContext {
    return {
      tenantId: this.tenantId,
      actor: `function ${functionName}`,
      access: { mayRead: () => true, mayWrite: () => true },
      limits: defaultRecordLimits,
      shape: 'flat',
    };
  }
}

function toChange(collection: CollectionModel, event: RecordEvent): RecordChange {
  const { id: position, kind, recordId, at } = event;
  return { position, kind, recordId, atMs: at.getTime(), json: changeJson(collection, event) };
}

const systemAttributes = ['createdAt', 'updatedAt', 'createdBy', 'updatedBy'];

/** Asks for all attributes but encrypted ones, which a runtime has no key for; '' if there are none. */
function fieldsOf({ fields }: CollectionModel): string {
  const all = [...fields.values()];
  const shown = all.filter(({ type }) => type !== 'ENCRYPTED');
  if (shown.length === all.length) return '';
  return `fields=${[...shown.map(({ name }) => name), ...systemAttributes].map(encodeURIComponent).join(',')}`;
}

function toRequest(
  { name }: CollectionModel,
  { id, query = '', body }: { readonly id?: string; readonly query?: string; readonly body?: unknown },
): RecordRequest {
  return {
    path: `/api/${name}`,
    query,
    headers: { prefer: 'return=minimal', 'content-type': 'application/json' },
    id,
    version: undefined,
    parent: undefined,
    body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    upload: undefined,
    signal: new AbortController().signal,
  };
}

function textOf({ body }: RecordAnswer): string {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) throw new TypeError('a read of records returns a text');
  return body.toString();
}

type GivenRecord = Readonly<Record<string, unknown>> & { readonly id?: unknown };

function parseRecord(functionName: string, collection: string, text: string): GivenRecord {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as GivenRecord;
  } catch {
    // no JSON
  }
  throw recordOutputInvalid({ functionName, collection, text: text.slice(0, 100) });
}
