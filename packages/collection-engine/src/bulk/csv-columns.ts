import { nearestName } from '@drover/service-kit';
import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { NumberLiteral, parseClientJson } from '../values/number-literal.js';
import { importColumnUnknown } from './bulk-errors.js';
import { errorsNote, lineNote } from './import-rows.js';
import type { CsvColumn, ReadCell } from './read-csv.js';
import type { ReferenceKey } from './reference-keys.js';

/** Returns names that an import ignores, because an export has them and no client sets them: system attributes and computed fields. */
export function ignoredNames({ fields }: CollectionModel): ReadonlySet<string> {
  const computed = [...fields.values()].filter(({ traits }) => !traits.isWritable).map(({ name }) => name);
  return new Set(['type', 'version', lineNote, errorsNote, ...Object.keys(systemColumns), ...computed]);
}

/** Returns how to read each column of a header; undefined for those that are ignored. */
export function csvColumns(
  collection: CollectionModel,
  header: readonly string[],
  keys: ReadonlyMap<string, Pick<ReferenceKey, 'key'>>,
): (CsvColumn | undefined)[] {
  const ignored = ignoredNames(collection);
  return header.map((name) => {
    if (ignored.has(name)) return undefined;
    const field = collection.fields.get(name) ?? keys.get(name)?.key;
    if (field !== undefined) return { name, read: readCell(field) };
    if (name === 'id') return { name, read: asText };
    const similar = nearestName(name, [...collection.fields.keys(), ...keys.keys()]);
    throw importColumnUnknown({ column: name, collection: collection.name, similar });
  });
}

/** Text that is no value of the field's kind is handed on as it is: the check of the field then names the problem. */
function readCell({ traits: { kind } }: FieldModel): ReadCell {
  switch (kind) {
    case 'integer':
    case 'number':
      return asNumber;
    case 'boolean':
      return asBoolean;
    case 'json':
    case 'list':
      return asJson;
    case 'text':
    case 'date':
    case 'datetime':
    case 'reference':
      return asText;
  }
}

const asText: ReadCell = (text) => text;

const asNumber: ReadCell = (text) => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  // The field decides whether it needs digits that a double does not have.
  return longNumber.test(text) ? new NumberLiteral(text.trim()) : value;
};

const longNumber = /^\s*-?[0-9][0-9.]{15,}\s*$/;

const asBoolean: ReadCell = (text) => {
  const value = text.trim().toLowerCase();
  return value === 'true' ? true : value === 'false' ? false : text;
};

const asJson: ReadCell = (text) => {
  try {
    return parseClientJson(text);
  } catch {
    return text;
  }
};
