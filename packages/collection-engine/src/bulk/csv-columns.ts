import { nearestName } from '@drover/service-kit';
import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { NumberLiteral, parseClientJson } from '../values/number-literal.js';
import { importColumnUnknown } from './bulk-errors.js';
import { errorsNote, lineNote } from './import-rows.js';
import type { CsvColumn, ReadCell } from './read-csv.js';

const ignoredColumns: ReadonlySet<string> = new Set([
  'type',
  'version',
  lineNote,
  errorsNote,
  ...Object.keys(systemColumns),
]);

/**
 * Returns how to read each column of a header; undefined for those that an export has and no client sets: system attributes,
 * computed fields, and ids of collections that choose their own.
 */
export function csvColumns(collection: CollectionModel, header: readonly string[]): (CsvColumn | undefined)[] {
  return header.map((name) => {
    const field = collection.fields.get(name);
    if (field !== undefined) return field.traits.isWritable ? { name, read: readCell(field) } : undefined;
    if (name === 'id') return collection.api.clientIds ? { name, read: asText } : undefined;
    if (ignoredColumns.has(name)) return undefined;
    const similar = nearestName(name, [...collection.fields.keys()]);
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
