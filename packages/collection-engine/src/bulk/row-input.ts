import { escapePointer, type RecordInput } from '../write/record-input.js';
import type { ImportRow } from './import-rows.js';

/** A row as the input of a write. Pointers are made only if there is a problem: an import has many rows and few problems. */
export class RowInput implements RecordInput {
  /** Of the row in its batch. */
  readonly index: number;
  readonly id: string | undefined;
  readonly lid = undefined;
  readonly values: RecordInput['values'];

  constructor(index: number, id: string | undefined, values: RecordInput['values']) {
    this.index = index;
    this.id = id;
    this.values = values;
  }

  /** Reads a row without the names that an import ignores. */
  static of({ values }: Pick<ImportRow, 'values'>, index: number, ignored: ReadonlySet<string>): RowInput {
    const { id } = values;
    const text = id === undefined || id === null ? undefined : typeof id === 'string' ? id : JSON.stringify(id);
    return new RowInput(
      index,
      text,
      withoutNames(values, (name) => name === 'id' || ignored.has(name)),
    );
  }

  get at(): string {
    return `/${this.index}`;
  }

  pointer(name: string): string {
    return `${this.at}/${escapePointer(name)}`;
  }
}

/** Returns the same object if there is nothing to leave out, as for most files that are no exports. */
export function withoutNames(
  values: RecordInput['values'],
  isLeftOut: (name: string) => boolean,
): RecordInput['values'] {
  for (const name in values) {
    if (isLeftOut(name)) return Object.fromEntries(Object.entries(values).filter(([each]) => !isLeftOut(each)));
  }
  return values;
}
