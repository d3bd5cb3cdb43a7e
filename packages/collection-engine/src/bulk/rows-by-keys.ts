import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { newRecordIds } from '../write/record-id.js';
import { isJsonRecord } from '../write/record-input.js';
import type { RowOutcome } from './import-run.js';
import { resolveReferences, type ReferenceKey } from './reference-keys.js';
import { RowInput, withoutNames } from './row-input.js';

/** Where an import goes: the collection, and the keys by which rows can name the records that they refer to. */
export interface ImportTarget {
  readonly collection: CollectionModel;
  readonly keys: ReadonlyMap<string, ReferenceKey>;
}

/** Replaces what rows name by keys (`customer.code`) with the ids of those records. */
export class RowsByKeys {
  readonly #target: ImportTarget;
  readonly #context: RecordContext;
  readonly #dependencies: OperationDependencies;
  /** Whether rows can name other rows of the file. */
  readonly #isSelf: boolean;

  constructor(context: RecordContext, target: ImportTarget, dependencies: OperationDependencies) {
    this.#context = context;
    this.#target = target;
    this.#dependencies = dependencies;
    this.#isSelf = [...target.keys.values()].some((key) => key.target.id === target.collection.id);
  }

  /** Returns the rows that can be written; `outcomes` gets the problems of the others. */
  async resolve(
    rows: readonly RowInput[],
    turn: Promise<unknown>,
    outcomes: RowOutcome[],
  ): Promise<readonly RowInput[]> {
    const { keys, collection } = this.#target;
    if (keys.size === 0) return rows;
    const dotted = rows.map((row) => withDottedNames(row, keys));
    const used = new Map([...keys].filter(([name]) => dotted.some(({ values }) => values[name] !== undefined)));
    if (used.size === 0) return rows;
    if (this.#isSelf) await turn; // rows of batches before may be named
    const named = this.#isSelf ? this.#withIds(dotted) : dotted;
    const { tenantId } = this.#context;
    const { found, problems } = await resolveReferences(collection, named, used, { ...this.#dependencies, tenantId });
    for (const [index, refused] of problems) outcomes[index] = refused;
    return named
      .filter(({ index }) => !problems.has(index))
      .map(({ index, id, values }) => {
        const others = withoutNames(values, (name) => used.has(name));
        return new RowInput(index, id, { ...others, ...found.get(index) });
      });
  }

  /** Gives rows without an id those that their records will have, so that others can refer to them. */
  #withIds(rows: readonly RowInput[]): RowInput[] {
    const idOf = newRecordIds(this.#dependencies.clock.now(), this.#dependencies.randomness);
    return rows.map((row) => (row.id === undefined ? new RowInput(row.index, idOf(row.index), row.values) : row));
  }
}

/** `{"customer": {"code": "C1"}}` means the same as `{"customer.code": "C1"}`. */
function withDottedNames({ index, id, values }: RowInput, keys: ReadonlyMap<string, ReferenceKey>): RowInput {
  let dotted = values;
  for (const { field } of keys.values()) {
    const given = dotted[field.name];
    const [member, second] = isJsonRecord(given) ? Object.keys(given) : [];
    if (!isJsonRecord(given) || member === undefined || second !== undefined) continue;
    const name = `${field.name}.${member}`;
    if (keys.has(name)) dotted = { ...withoutNames(dotted, (each) => each === field.name), [name]: given[member] };
  }
  return new RowInput(index, id, dotted);
}
