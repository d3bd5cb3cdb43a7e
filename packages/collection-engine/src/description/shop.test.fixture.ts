import type { CollectionDefinition } from '@drover/contracts';

const customers: CollectionDefinition = {
  name: 'customers',
  displayName: 'Customers',
  description: 'Ends a comment */ and\n starts a line',
  fields: [
    { name: 'name', type: 'STRING', required: true, constraints: { maxLength: 100, pattern: '[a-z]+' } },
    { name: 'email', type: 'EMAIL' },
    {
      name: 'orderCount',
      type: 'ROLLUP_SUMMARY',
      rollup: { collection: 'orders', via: 'customer', function: 'COUNT' },
    },
  ],
};

const orders: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'number', type: 'AUTO_NUMBER' },
    { name: 'customer', type: 'MASTER_DETAIL', references: { collection: 'customers' } },
    { name: 'status', type: 'PICKLIST', values: ['open', 'it\'s "done"'], required: true, default: 'open' },
    { name: 'tags', type: 'MULTI_PICKLIST', values: ['a', 'b'] },
    { name: 'total', type: 'CURRENCY', constraints: { minValue: 0 } },
    { name: 'big', type: 'FORMULA', formula: { expression: 'total > 100', returns: 'BOOLEAN' } },
    { name: 'place', type: 'GEOLOCATION' },
    { name: 'extra', type: 'JSON' },
    { name: 'list', type: 'ARRAY', constraints: { itemType: 'number', maxItems: 3 } },
    { name: 'placed-at', type: 'DATETIME' },
  ],
  softDelete: true,
  history: true,
};

/** A name that needs quotes, a relation back to the same collection, and most operations switched off. */
const sizes: CollectionDefinition = {
  name: 'größen-2²',
  fields: [
    { name: 'größe', type: 'INTEGER', required: true },
    { name: 'parent', type: 'LOOKUP', references: { collection: 'größen-2²', as: 'children' } },
  ],
  api: { create: false, update: false, delete: false, clientIds: true },
  events: false,
};

export const shopDefinitions: readonly CollectionDefinition[] = [customers, orders, sizes];
