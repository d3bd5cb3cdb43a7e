import {
  collectionChangeRefused,
  collectionUnknown,
  type Caller,
  type CatalogedCollection,
  type CollectionChange,
  type CollectionChanges,
  type CollectionStore,
  type SchemaChangeRunner,
} from '@drover/collection-engine';
import { hasCode, type CollectionDefinition, type CollectionPlan } from '@drover/contracts';
import { sleep, type Clock } from '@drover/service-kit';
import type { EditedDefinition } from './edit-definition.js';
import { nameIn, requireScope, type CollectionDefinitions, type StoredByName } from './collection-definitions.js';

export interface DefinitionChangesOptions {
  readonly definitions: CollectionDefinitions;
  readonly store: Pick<CollectionStore, 'find'>;
  readonly changes: Pick<CollectionChanges, 'plan' | 'find' | 'list'>;
  readonly runner: Pick<SchemaChangeRunner, 'request'>;
  readonly clock: Clock;
  /** How long a request waits for its change; a longer one goes on without it. */
  readonly waitMs?: number;
}

/** A collection after a change, or with the change that still runs. */
export interface ChangedCollection {
  readonly collection: CatalogedCollection;
  readonly running?: CollectionChange;
}

/** Makes the new definition of one that is stored. */
export type Edit = (before: CollectionDefinition) => EditedDefinition;

const pollMs = 20;
/** Other changes of the same collection that may come between the check and the change. */
const maxAttempts = 5;

/** Plans changes of definitions and has them carried out. */
export class DefinitionChanges {
  readonly #options: DefinitionChangesOptions;
  readonly #waitMs: number;

  constructor(options: DefinitionChangesOptions) {
    this.#options = options;
    this.#waitMs = options.waitMs ?? 20_000;
  }

  /** Says what storing these definitions would do. Throws COLLECTION_DEFINITION_INVALID. */
  async plan(caller: Caller, inputs: readonly unknown[]): Promise<CollectionPlan[]> {
    const { definitions, stored } = await this.#check(caller, inputs);
    return this.#plan(caller, definitions, stored);
  }

  /** Creates and changes collections that may refer to each other. Does nothing if any of them is refused. */
  async apply(
    caller: Caller,
    inputs: readonly unknown[],
  ): Promise<{ readonly plans: CollectionPlan[]; readonly collections: readonly ChangedCollection[] }> {
    const { definitions, stored } = await this.#check(caller, inputs);
    const plans = await this.#plan(caller, definitions, stored);
    const refused = plans.find(({ refusals }) => refusals.length > 0);
    if (refused) throw collectionChangeRefused({ collection: refused.collection, refusals: refused.refusals });
    // New collections come first: changes may refer to them.
    const created = await this.#options.definitions.createAll(
      caller,
      definitions.filter(({ name }) => !stored.has(name)),
    );
    const endMs = this.#options.clock.monotonicMs() + this.#waitMs;
    const changed = await Promise.all(
      definitions
        .filter(({ name }) => stored.has(name))
        .map((definition) => this.#change(caller, definition, stored.get(definition.name)?.version, endMs)),
    );
    const all = new Map(
      [...created.map((collection) => ({ collection })), ...changed].map((one) => [
        one.collection.definition.name,
        one,
      ]),
    );
    return { plans, collections: definitions.flatMap(({ name }) => all.get(name) ?? []) };
  }

  /**
   * Changes one collection by an edit of its definition. Without an expected version the edit is repeated when another change comes
   * between.
   */
  async change(
    caller: Caller,
    name: string,
    edit: Edit,
    expectedVersion: number | undefined,
  ): Promise<ChangedCollection> {
    const { definitions, clock } = this.#options;
    const endMs = clock.monotonicMs() + this.#waitMs;
    for (let attempt = 1; ; attempt += 1) {
      const { definition: before, version } = await definitions.get(caller, name);
      const { input, bodyAt = '' } = edit(before);
      const inBody = (_: number, pointer: string): string =>
        `${pointer}/`.startsWith(`${bodyAt}/`) ? pointer.slice(bodyAt.length) : pointer;
      const checked = await definitions.check(caller, [input], inBody);
      const [definition] = checked.definitions;
      if (!definition) throw new Error('the check returned no definition');
      try {
        return await this.#change(caller, definition, expectedVersion ?? version, endMs);
      } catch (error) {
        const isOvertaken = expectedVersion === undefined && hasCode(error, 'COLLECTION_VERSION_MISMATCH');
        if (!isOvertaken || attempt === maxAttempts) throw error;
      }
    }
  }

  /** Returns the last changes of a collection, the newest first. */
  async list(caller: Caller, name: string): Promise<readonly CollectionChange[]> {
    await this.#options.definitions.get(caller, name);
    return this.#options.changes.list(caller.tenantId, name);
  }

  #check(caller: Caller, inputs: readonly unknown[]): ReturnType<CollectionDefinitions['check']> {
    for (const name of inputs.map(nameIn)) if (name !== undefined) requireScope(caller, name);
    return this.#options.definitions.check(caller, inputs, (index, pointer) => `/collections/${index}${pointer}`);
  }

  #plan(caller: Caller, definitions: readonly CollectionDefinition[], stored: StoredByName): Promise<CollectionPlan[]> {
    return Promise.all(
      definitions.map(async (definition) => {
        const { name: collection } = definition;
        const before = stored.get(collection);
        if (!before) return planOfNew(definition);
        const { steps, refusals } = await this.#options.changes.plan(caller.tenantId, collection, definition);
        const isSame = steps.length + refusals.length === 0;
        return {
          collection,
          action: isSame ? ('none' as const) : ('change' as const),
          fromVersion: before.version,
          steps: [...steps],
          refusals: [...refusals],
        };
      }),
    );
  }

  /** Waits for a change of the same collection that is running, then for its own; a change that takes long goes on by itself. */
  async #change(
    caller: Caller,
    definition: CollectionDefinition,
    expectedVersion: number | undefined,
    endMs: number,
  ): Promise<ChangedCollection> {
    const { definitions, runner, clock } = this.#options;
    const { tenantId, keyId: actor } = caller;
    const { name } = definition;
    for (;;) {
      try {
        const change = await runner.request({ tenantId, name, definition, actor, expectedVersion });
        if (!change) return { collection: await definitions.get(caller, name) };
        return await this.#current(caller, name, change, endMs);
      } catch (error) {
        if (!hasCode(error, 'COLLECTION_CHANGE_RUNNING') || clock.monotonicMs() >= endMs) throw error;
        await sleep(clock, pollMs);
      }
    }
  }

  /** Resolves when the new version is current, or with the change if that takes too long. Throws COLLECTION_CHANGE_REFUSED. */
  async #current(caller: Caller, name: string, change: CollectionChange, endMs: number): Promise<ChangedCollection> {
    const { store, changes, definitions, clock } = this.#options;
    for (;;) {
      const collection = await store.find(caller.tenantId, name);
      if (collection?.id !== change.collectionId) throw collectionUnknown({ collection: name, similar: undefined });
      if (collection.version > change.fromVersion) {
        definitions.report(caller, collection, 'changed');
        return { collection };
      }
      const running = await changes.find(change.id);
      if (running?.state === 'refused') throw collectionChangeRefused({ collection: name, refusals: running.refusals });
      if (clock.monotonicMs() >= endMs) return { collection, running: running ?? change };
      await sleep(clock, pollMs);
    }
  }
}

function planOfNew({ name, fields, storageMode = 'PHYSICAL_TABLE' }: CollectionDefinition): CollectionPlan {
  const about = `Create the collection with ${fields.length} ${fields.length === 1 ? 'field' : 'fields'} (${storageMode})`;
  return { collection: name, action: 'create', steps: [{ about, losesValues: false }], refusals: [] };
}
