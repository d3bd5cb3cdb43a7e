import type { CollectionDefinition, StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { createCollectionTables, testCollection } from '../testing/collection-tables.js';
import { callOperation, testDependencies } from '../testing/record-requests.js';
import { insertRows } from '../testing/record-rows.js';

/** A uuid that ends with a number, so that tests can name records. */
export const recordId = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;

const definitions = (storageMode: StorageMode): CollectionDefinition[] => [
  {
    name: 'customers',
    storageMode,
    displayField: 'email',
    fields: [
      { name: 'name', type: 'STRING', searchable: true },
      { name: 'email', type: 'EMAIL', unique: true },
      { name: 'country', type: 'STRING', indexed: true },
      { name: 'taxNumber', type: 'ENCRYPTED' },
      { name: 'parent', type: 'LOOKUP', references: { collection: 'customers', as: 'branches' } },
    ],
  },
  {
    name: 'orders',
    storageMode,
    softDelete: true,
    fields: [
      { name: 'number', type: 'STRING', unique: true },
      { name: 'status', type: 'PICKLIST', values: ['new', 'paid', 'sent'], indexed: true },
      { name: 'total', type: 'CURRENCY', indexed: true },
      { name: 'weight', type: 'DOUBLE' },
      { name: 'items', type: 'INTEGER' },
      { name: 'express', type: 'BOOLEAN' },
      { name: 'due', type: 'DATE', indexed: true },
      { name: 'placedAt', type: 'DATETIME', indexed: true },
      { name: 'meta', type: 'JSON', indexed: true },
      { name: 'labels', type: 'ARRAY', constraints: { itemType: 'string' } },
      { name: 'channels', type: 'MULTI_PICKLIST', values: ['web', 'shop', 'phone'] },
      { name: 'note', type: 'TEXT', searchable: true, patternIndexed: true },
      { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
      { name: 'double', type: 'FORMULA', formula: { expression: 'total * 2', returns: 'DOUBLE' } },
      { name: 'lineCount', type: 'ROLLUP_SUMMARY', rollup: { collection: 'lines', via: 'order', function: 'COUNT' } },
    ],
  },
  {
    name: 'lines',
    storageMode,
    fields: [
      { name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } },
      { name: 'product', type: 'STRING' },
      { name: 'quantity', type: 'INTEGER' },
    ],
  },
];

const customers = [
  { name: 'Ada', email: 'ada@a.example', country: 'DE', parent: null },
  { name: 'Bob', email: 'bob@a.example', country: 'FR', parent: recordId(1) },
  { name: 'Cleo 100%', email: 'cleo@a.example', country: null, parent: recordId(1) },
];

const orders = [
  {
    number: 'A1',
    status: 'new',
    total: 10.5,
    weight: 1.5,
    items: 1,
    express: true,
    due: '2026-01-05',
    placedAt: '2026-01-01T10:00:00.000Z',
    meta: { address: { city: 'Berlin', floor: 3 } },
    labels: ['a', 'b'],
    channels: ['web'],
    note: 'Fragile glass inside',
    customer: recordId(1),
  },
  {
    number: 'A2',
    status: 'paid',
    total: 20,
    weight: null,
    items: 2,
    express: false,
    due: '2026-01-06',
    placedAt: '2026-01-02T10:00:00.000Z',
    meta: { address: { city: 'Paris', floor: 12 } },
    labels: ['b'],
    channels: ['shop', 'web'],
    note: 'Leave at the door',
    customer: recordId(2),
  },
  {
    number: 'A3',
    status: 'paid',
    total: null,
    weight: 0.25,
    items: 3,
    express: null,
    due: null,
    placedAt: null,
    meta: null,
    labels: null,
    channels: null,
    note: null,
    customer: null,
  },
  {
    number: 'B_4',
    status: 'sent',
    total: 20,
    weight: 7,
    items: 10,
    express: true,
    due: '2026-02-01',
    placedAt: '2026-02-01T00:00:00.000Z',
    meta: { address: { city: '5', floor: '3' } },
    labels: ['100%'],
    channels: ['phone'],
    note: 'glass door',
    customer: recordId(1),
  },
]; // prettier-ignore

/** A shop with three collections and a few records, in one of the storage modes. */
export interface Shop {
  readonly model: (name: string) => CollectionModel;
  readonly dependencies: OperationDependencies;
  /** Calls an operation and returns the body as JSON. */
  call(
    operation: RecordOperation,
    collection: string,
    request?: Partial<RecordRequest> & { readonly context?: Partial<RecordContext> },
  ): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown }>;
}

export async function openShop(database: Database, storageMode: StorageMode): Promise<Shop> {
  const tenantId = `shop-${storageMode}`;
  const models = definitions(storageMode).map((definition) => testCollection(definition, { tenantId }));
  const model = (name: string): CollectionModel => {
    const found = models.find((each) => each.name === name);
    if (!found) throw new Error(`The shop has no collection ${name}`);
    return found;
  };
  const dependencies = testDependencies(database, models);
  for (const each of models) await createCollectionTables(database, each);
  const numbered = <T extends object>(rows: readonly T[]) =>
    rows.map((values, index) => ({ id: recordId(index + 1), values: { ...values } }));
  const taxNumber = model('customers').fields.get('taxNumber');
  const sealed = taxNumber && dependencies.cipher.seal(model('customers'), taxNumber, 'DE "123"');
  await insertRows(
    database,
    model('customers'),
    numbered(customers.map((values, index) => ({ ...values, taxNumber: index === 0 ? sealed : null }))),
  );
  await insertRows(database, model('orders'), [
    ...numbered(orders),
    { id: recordId(9), values: { number: 'X' }, system: { deleted_at: '2026-03-01T00:00:00Z' } },
  ]);
  await insertRows(
    database,
    model('lines'),
    numbered([
      { order: recordId(1), product: 'lamp', quantity: 2 },
      { order: recordId(1), product: 'desk', quantity: 1 },
      { order: recordId(2), product: 'lamp', quantity: 5 },
    ]),
  );
  return {
    model,
    dependencies,
    call: (operation, collection, { context, ...request } = {}) =>
      callOperation(operation, model(collection), dependencies, {
        path: `/api/${collection}`,
        ...request,
        context: { tenantId, ...context },
      }),
  };
}
