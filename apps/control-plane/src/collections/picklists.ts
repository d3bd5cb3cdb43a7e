import {
  shapeProblems,
  type Caller,
  type CollectionStore,
  type PicklistStore,
  type StoredPicklist,
} from '@drover/collection-engine';
import { holdsScope, PicklistDefinition, type PicklistView } from '@drover/contracts';
import { nearestName } from '@drover/service-kit';
import { requestInvalid } from '../errors.js';
import type { DefinitionChanges } from './definition-changes.js';
import { picklistUnknown } from './errors.js';

export interface PicklistsOptions {
  readonly picklists: Pick<PicklistStore, 'list' | 'remove'>;
  readonly collections: Pick<CollectionStore, 'list'>;
  readonly changes: Pick<DefinitionChanges, 'applyPicklist'>;
}

/** Reads, changes and deletes the picklists of a tenant. */
export class Picklists {
  readonly #options: PicklistsOptions;

  constructor(options: PicklistsOptions) {
    this.#options = options;
  }

  /** `usedBy` has only collections that the key may define: it knows no others. */
  async list({ tenantId, scopes }: Caller): Promise<PicklistView[]> {
    const { picklists, collections } = this.#options;
    const fields = (await collections.list(tenantId))
      .filter(({ definition }) => holdsScope(scopes, 'collections:define', definition.name))
      .flatMap(({ definition: { name: collection, fields: own } }) =>
        own.map(({ name, picklist }) => ({ picklist, use: { collection, field: name } })),
      );
    return (await picklists.list(tenantId)).map((stored) => {
      const usedBy = fields.filter(({ picklist }) => picklist === stored.definition.name).map(({ use }) => use);
      return toView(stored, usedBy);
    });
  }

  /** Throws PICKLIST_UNKNOWN. */
  async get(caller: Caller, name: string): Promise<PicklistView> {
    const all = await this.list(caller);
    const found = all.find((one) => one.name === name);
    if (found) return found;
    const names = all.map((one) => one.name);
    throw picklistUnknown({ picklist: name, similar: nearestName(name, names) });
  }

  /** Creates or changes a picklist. Returns it, and whether its change still runs; it has the values before then. */
  async put(
    caller: Caller,
    name: string,
    body: unknown,
  ): Promise<{ readonly view: PicklistView; readonly isDone: boolean }> {
    const input = typeof body === 'object' && body !== null && !Array.isArray(body) ? { name, ...body } : body;
    const [problem] = shapeProblems(PicklistDefinition, input);
    if (problem) throw requestInvalid({ problem: `${problem.pointer}: ${problem.message}` });
    const definition = input as PicklistDefinition; // its shape has just been checked
    if (definition.name !== name) {
      throw requestInvalid({
        problem: `The path names the picklist "${name}", and the body "${definition.name}". Use one name.`,
      });
    }
    const isDone = await this.#options.changes.applyPicklist(caller, definition);
    return { view: await this.get(caller, name), isDone };
  }

  /** Throws PICKLIST_UNKNOWN or PICKLIST_IN_USE. */
  async remove(caller: Caller, name: string): Promise<void> {
    await this.get(caller, name);
    await this.#options.picklists.remove(caller.tenantId, name);
  }
}

function toView(
  { definition, version, updatedAt, updatedBy }: StoredPicklist,
  usedBy: PicklistView['usedBy'],
): PicklistView {
  return { ...definition, version, usedBy, updatedAt: updatedAt.toISOString(), updatedBy };
}
