import {
  collectionChangeRefused,
  collectionUnknown,
  renamesIn,
  type Caller,
  type CatalogedCollection,
  type CollectionChange,
  type CollectionChanges,
  type CollectionStore,
  type RequestedChange,
  type RequestedSet,
  type SchemaChangeRunner,
} from '@drover/collection-engine';
import { hasCode, type CollectionDefinition, type CollectionPlan, type PicklistDefinition } from '@drover/contracts';
import { sleep, type Clock } from '@drover/service-kit';
import { collectionRouteTaken } from '../route-clashes/errors.js';
import type { RouteGuard } from '../route-clashes/route-guard.js';
import type { EditedDefinition } from './edit-definition.js';
import { nameIn, requireScope, type CheckedSet, type CollectionDefinitions } from './collection-definitions.js';

export interface DefinitionChangesOptions {
  readonly definitions: CollectionDefinitions;
  readonly store: Pick<CollectionStore, 'list'>;
  readonly changes: Pick<CollectionChanges, 'plan' | 'find' | 'list'>;
  readonly runner: Pick<SchemaChangeRunner, 'requestSet'>;
  readonly routeGuard: Pick<RouteGuard, 'ofNames'>;
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
    const checked = await this.#check(caller, inputs);
    return this.#withClashes(caller, checked, await this.#plan(caller, checked));
  }

  /** Creates and changes collections that may refer to each other: all or none. Throws COLLECTION_CHANGE_REFUSED. */
  async apply(
    caller: Caller,
    inputs: readonly unknown[],
  ): Promise<{ readonly plans: CollectionPlan[]; readonly collections: readonly ChangedCollection[] }> {
    const endMs = this.#options.clock.monotonicMs() + this.#waitMs;
    const checked = await this.#check(caller, inputs);
    const plans = await this.#plan(caller, checked);
    const refused = plans.find(({ refusals }) => refusals.length > 0);
    if (refused) throw collectionChangeRefused({ collection: refused.collection, refusals: refused.refusals });
    return { plans, collections: await this.#carryOut(caller, checked, { changed: requestsOf(checked) }, endMs) };
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
      requireScopes(caller, checked);
      const requests = requestsOf(checked).map((request) =>
        request.name === name ? { ...request, expectedVersion: expectedVersion ?? version } : request,
      );
      try {
        const [changed] = await this.#carryOut(caller, checked, { changed: requests }, endMs);
        if (!changed) throw new Error('the change has no collection');
        return changed;
      } catch (error) {
        const isOvertaken = expectedVersion === undefined && hasCode(error, 'COLLECTION_VERSION_MISMATCH');
        if (!isOvertaken || attempt === maxAttempts) await this.#waitForPicklist(error, endMs);
      }
    }
  }

  /**
   * Creates or changes a picklist together with all fields that use it. Returns false if that still goes on after the time that a request
   * may take. Throws COLLECTION_CHANGE_REFUSED, or COLLECTION_DEFINITION_INVALID if a field does not fit the new values.
   */
  async applyPicklist(caller: Caller, picklist: PicklistDefinition): Promise<boolean> {
    const { definitions, store, clock } = this.#options;
    const endMs = clock.monotonicMs() + this.#waitMs;
    for (let attempt = 1; ; attempt += 1) {
      const users = (await store.list(caller.tenantId))
        .map(({ definition }) => definition)
        .filter(usesOf(picklist.name));
      const pointerOf = (index: number, pointer: string): string => `/usedBy/${users[index]?.name ?? index}${pointer}`;
      const checked = await definitions.check(caller, users, pointerOf, picklist);
      requireScopes(caller, checked);
      try {
        const changed = await this.#carryOut(caller, checked, { changed: requestsOf(checked), picklist }, endMs);
        return changed.every(({ running }) => running === undefined);
      } catch (error) {
        const isOvertaken = hasCode(error, 'COLLECTION_VERSION_MISMATCH') && attempt < maxAttempts;
        if (!isOvertaken) await this.#waitForPicklist(error, endMs);
      }
    }
  }

  /** Returns the last changes of a collection, the newest first. */
  async list(caller: Caller, name: string): Promise<readonly CollectionChange[]> {
    await this.#options.definitions.get(caller, name);
    return this.#options.changes.list(caller.tenantId, name);
  }

  async #check(caller: Caller, inputs: readonly unknown[]): Promise<CheckedSet> {
    for (const name of inputs.map(nameIn)) if (name !== undefined) requireScope(caller, name);
    const pointerOf = (index: number, pointer: string): string => `/collections/${index}${pointer}`;
    const checked = await this.#options.definitions.check(caller, inputs, pointerOf);
    requireScopes(caller, checked);
    return checked;
  }

  #plan({ tenantId }: Caller, checked: CheckedSet): Promise<CollectionPlan[]> {
    const renames = renamesIn(requestsOf(checked));
    return Promise.all(
      [...checked.definitions, ...checked.followers].map(async (definition) => {
        const before = storedBefore(checked, definition);
        if (!before) return planOfNew(definition);
        const { name } = before.definition;
        const { steps, refusals } = await this.#options.changes.plan(tenantId, name, definition, renames);
        const isSame = steps.length + refusals.length === 0;
        return {
          collection: definition.name,
          action: isSame ? ('none' as const) : ('change' as const),
          fromVersion: before.version,
          steps: [...steps],
          refusals: [...refusals],
        };
      }),
    );
  }

  /** Adds the refusals of names whose paths functions have. The store looks at them again, and keeps others out. */
  async #withClashes({ tenantId }: Caller, checked: CheckedSet, plans: CollectionPlan[]): Promise<CollectionPlan[]> {
    const names = checked.definitions.map(({ name }) => name).filter((name) => !checked.stored.has(name));
    const clashes = await this.#options.routeGuard.ofNames(tenantId, names);
    if (clashes.length === 0) return plans;
    return plans.map((plan) => {
      if (!names.includes(plan.collection)) return plan;
      const own = clashes.filter(({ collection = names[0] }) => collection === plan.collection);
      if (own.length === 0) return plan;
      return {
        ...plan,
        refusals: [...plan.refusals, { path: '/name', message: collectionRouteTaken({ clashes: own }).message }],
      };
    });
  }

  /** Returns the collections of the definitions when all are current; changes that take long go on by themselves. */
  async #carryOut(
    caller: Caller,
    checked: CheckedSet,
    set: Pick<RequestedSet, 'changed' | 'picklist'>,
    endMs: number,
  ): Promise<readonly ChangedCollection[]> {
    const { definitions, store } = this.#options;
    const created = checked.definitions.filter((definition) => !storedBefore(checked, definition));
    const changes = await this.#start({ tenantId: caller.tenantId, actor: caller.keyId, created, ...set }, endMs);
    const ends = await Promise.all(changes.map((change) => this.#end(change, checked, endMs)));
    requireAccepted(ends, checked);
    const running = new Map(ends.filter(({ state }) => state === 'running').map((end) => [end.collectionId, end]));
    const current = new Map((await store.list(caller.tenantId)).map((one) => [one.definition.name, one]));
    const changedIds = new Set(ends.map(({ collectionId }) => collectionId));
    return checked.definitions.flatMap((definition) => {
      const collection = current.get(definition.name) ?? current.get(definition.formerName ?? '');
      if (!collection) {
        // New collections are created together with the changes, which still run.
        if (running.size > 0) return [];
        throw collectionUnknown({ collection: definition.name, similar: undefined });
      }
      const change = running.get(collection.id);
      const isNew = created.includes(definition);
      if (!change && (isNew || changedIds.has(collection.id))) {
        definitions.report(caller, collection, isNew ? 'created' : 'changed');
      }
      return [change ? { collection, running: change } : { collection }];
    });
  }

  /** Resolves when it is time to try again what another change of a picklist has stopped; rejects with any other error. */
  async #waitForPicklist(error: unknown, endMs: number): Promise<void> {
    const { clock } = this.#options;
    if (!hasCode(error, 'PICKLIST_CHANGED') || clock.monotonicMs() >= endMs) throw error;
    await sleep(clock, pollMs);
  }

  /** Starts changes when others of the same collections have ended. */
  async #start(set: RequestedSet, endMs: number): Promise<readonly CollectionChange[]> {
    const { runner, clock } = this.#options;
    for (;;) {
      try {
        return (await runner.requestSet(set)).changes;
      } catch (error) {
        if (!hasCode(error, 'COLLECTION_CHANGE_RUNNING') || clock.monotonicMs() >= endMs) throw error;
        await sleep(clock, pollMs);
      }
    }
  }

  /** Resolves when a change has ended and nothing of the version before is enforced, or when it takes too long. */
  async #end(change: CollectionChange, checked: CheckedSet, endMs: number): Promise<CollectionChange> {
    const { changes, clock } = this.#options;
    for (let last = change; ; ) {
      if (last.state !== 'running' || clock.monotonicMs() >= endMs) return last;
      await sleep(clock, pollMs);
      const found = await changes.find(change.id);
      if (!found) throw collectionUnknown({ collection: nameOf(change, checked), similar: undefined }); // deleted meanwhile
      last = found;
    }
  }
}

/** Whether a definition has a field that takes its values from a picklist. */
const usesOf =
  (picklist: string) =>
  ({ fields }: CollectionDefinition): boolean =>
    fields.some((field) => field.picklist === picklist);

/** Changes of stored collections, without new ones. */
function requestsOf(checked: CheckedSet): readonly RequestedChange[] {
  return [...checked.definitions, ...checked.followers].flatMap((definition) => {
    const before = storedBefore(checked, definition);
    return before ? [{ name: before.definition.name, definition, expectedVersion: before.version }] : [];
  });
}

const storedBefore = ({ stored }: CheckedSet, definition: CollectionDefinition): CatalogedCollection | undefined =>
  stored.get(definition.formerName ?? definition.name);

/** A rename changes what refers to the collection, too. */
function requireScopes(caller: Caller, { definitions, followers }: CheckedSet): void {
  for (const { name, formerName } of [...definitions, ...followers]) {
    requireScope(caller, name);
    if (formerName !== undefined) requireScope(caller, formerName);
  }
}

/** Throws COLLECTION_CHANGE_REFUSED with the reason itself, which other changes of the set have only heard of. */
function requireAccepted(ends: readonly CollectionChange[], checked: CheckedSet): void {
  const refused = ends.filter(({ state }) => state === 'refused');
  const change = refused.find(({ refusals }) => refusals.every((one) => one.collection === undefined)) ?? refused[0];
  if (!change) return;
  throw collectionChangeRefused({ collection: nameOf(change, checked), refusals: change.refusals });
}

const nameOf = ({ collectionId }: CollectionChange, { stored }: CheckedSet): string =>
  [...stored.values()].find(({ id }) => id === collectionId)?.definition.name ?? '';

function planOfNew({ name, fields, storageMode = 'PHYSICAL_TABLE' }: CollectionDefinition): CollectionPlan {
  const about = `Create the collection with ${fields.length} ${fields.length === 1 ? 'field' : 'fields'} (${storageMode})`;
  return { collection: name, action: 'create', steps: [{ about, losesValues: false }], refusals: [] };
}
