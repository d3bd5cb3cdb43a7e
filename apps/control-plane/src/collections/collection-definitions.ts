import {
  accessDenied,
  checkDefinitions,
  collectionDefinitionInvalid,
  collectionUnknown,
  type Caller,
  type CatalogedCollection,
  type CollectionStore,
  type PicklistStore,
} from '@drover/collection-engine';
import { holdsScope, type CollectionDefinition, type PicklistDefinition } from '@drover/contracts';
import { nearestName, type Observe } from '@drover/service-kit';
import type { DefinitionObservation } from './observations.js';

export interface CollectionDefinitionsOptions {
  readonly store: CollectionStore;
  readonly picklists: Pick<PicklistStore, 'list'>;
  /** Whether the platform has the key that encrypted fields need. */
  readonly canEncrypt: boolean;
  readonly observe: Observe<DefinitionObservation>;
}

/** Reads, creates and deletes definitions. A caller sees and changes the collections that its scopes name. */
export class CollectionDefinitions {
  readonly #options: CollectionDefinitionsOptions;

  constructor(options: CollectionDefinitionsOptions) {
    this.#options = options;
  }

  async list({ tenantId, scopes }: Caller): Promise<readonly CatalogedCollection[]> {
    const collections = await this.#options.store.list(tenantId);
    return collections.filter(({ definition }) => holdsScope(scopes, 'collections:define', definition.name));
  }

  async get(caller: Caller, name: string): Promise<CatalogedCollection> {
    const collection = await this.#options.store.find(caller.tenantId, name);
    if (collection) return collection;
    const names = (await this.list(caller)).map(({ definition }) => definition.name);
    const renamedTo = await this.#options.store.renamedTo(caller.tenantId, name);
    throw collectionUnknown({ collection: name, similar: nearestName(name, names), renamedTo });
  }

  async create(caller: Caller, input: unknown): Promise<CatalogedCollection> {
    const name = nameIn(input);
    if (name !== undefined) requireScope(caller, name);
    const { definitions } = await this.check(caller, [input], (_, pointer) => pointer);
    const [created] = await this.#options.store.create(caller.tenantId, definitions, caller.keyId);
    if (!created) throw new Error('the store created no collection');
    this.report(caller, created, 'created');
    return created;
  }

  async remove(caller: Caller, name: string, expectedVersion: number | undefined): Promise<void> {
    const collection = await this.get(caller, name);
    const isRemoved = await this.#options.store.remove(caller.tenantId, name, expectedVersion);
    if (!isRemoved) throw collectionUnknown({ collection: name, similar: undefined });
    this.report(caller, collection, 'deleted');
  }

  /**
   * Checks definitions that are to be stored together, and what other collections need of them. `pointerOf` turns a pointer into the
   * definition with an index into one into the body of the request. `changed` is a picklist with the values that it will have. Throws
   * COLLECTION_DEFINITION_INVALID.
   */
  async check(
    { tenantId }: Caller,
    inputs: readonly unknown[],
    pointerOf: (index: number, pointer: string) => string,
    changed?: PicklistDefinition,
  ): Promise<CheckedSet> {
    const { store, picklists, canEncrypt } = this.#options;
    const stored = new Map((await store.list(tenantId)).map((one) => [one.definition.name, one] as const));
    const before = new Map([...stored].map(([name, { definition }]) => [name, definition] as const));
    const lists = [
      ...(await picklists.list(tenantId)).map(({ definition }) => definition),
      ...(changed ? [changed] : []),
    ];
    const values = new Map(lists.map((one) => [one.name, one.values]));
    const checked = checkDefinitions(inputs, before, { canEncrypt, picklists: values });
    if ('definitions' in checked) return { ...checked, stored };
    const problems = checked.problems.map(({ index, pointer, message }) => ({
      pointer: pointerOf(index, pointer),
      message,
    }));
    throw collectionDefinitionInvalid({ collection: nameIn(inputs[checked.problems[0]?.index ?? 0]) ?? '', problems });
  }

  report({ tenantId, keyId }: Caller, collection: CatalogedCollection, change: DefinitionObservation['change']): void {
    const { definition, version } = collection;
    this.#options.observe({
      kind: 'collection.defined',
      tenantId,
      collection: definition.name,
      change,
      version,
      keyId,
    });
  }
}

/** Definitions that may be stored together. */
export interface CheckedSet {
  readonly definitions: readonly CollectionDefinition[];
  /** Other collections that must be stored with them, because they refer to one that is renamed. */
  readonly followers: readonly CollectionDefinition[];
  /** All collections of the tenant by name. */
  readonly stored: ReadonlyMap<string, CatalogedCollection>;
}

export function requireScope({ scopes }: Caller, name: string): void {
  if (!holdsScope(scopes, 'collections:define', name))
    throw accessDenied({ scope: `collections:define or collections:define:${name}` });
}

/** Returns the name of a definition that has not been checked, if it has one. */
export function nameIn(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || !('name' in input)) return undefined;
  return typeof input.name === 'string' ? input.name : undefined;
}
