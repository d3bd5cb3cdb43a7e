import type { CollectionDefinition } from '@drover/contracts';
import { spreadMark } from '../functions-api/load/request.js';

export const customerCount = 1_000;
export const statuses = ['open', 'paid', 'sent', 'returned', 'lost'];

/** Ids that end with a number, so that requests can be stamped with them. */
const idPrefix = { customers: '01900000-0000-7000-8000-000', orders: '01900000-0000-7000-9000-000' };
export const idOf = (kind: keyof typeof idPrefix, n: number): string => idPrefix[kind] + String(n).padStart(9, '0');
export const spreadIdOf = (kind: keyof typeof idPrefix): string => idPrefix[kind] + spreadMark;

export const customers: CollectionDefinition = {
  name: 'customers',
  fields: [
    { name: 'name', type: 'STRING', required: true, constraints: { maxLength: 100 } },
    { name: 'email', type: 'EMAIL', required: true },
    { name: 'country', type: 'STRING', indexed: true },
  ],
  api: { clientIds: true },
};

export const orders: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'number', type: 'STRING', required: true, unique: true, constraints: { maxLength: 40 } },
    { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' }, required: true },
    { name: 'status', type: 'PICKLIST', required: true, values: statuses },
    { name: 'total', type: 'CURRENCY', required: true, constraints: { minValue: 0 } },
    { name: 'placedAt', type: 'DATETIME', required: true },
    { name: 'note', type: 'TEXT', constraints: { maxLength: 1_000 } },
  ],
  indexes: [['customer', '-placedAt']],
  api: { clientIds: true },
};

/** A collection with what most have, to measure imports and definitions with. */
export const importedOrders = (name: string): CollectionDefinition => ({
  name,
  fields: orders.fields,
  indexes: [['customer', '-placedAt']],
});

export interface Order {
  readonly number: string;
  readonly customer: string;
  readonly status: string;
  readonly total: number;
  readonly placedAt: string;
  readonly note: string;
}

const firstPlacedMs = Date.UTC(2024, 0, 1);

/** The order `n` of every run: statuses in turn, times in no order. */
export function orderOf(n: number, number = `A-${n}`): Order {
  return {
    number,
    customer: idOf('customers', n % customerCount),
    status: statuses[n % statuses.length] ?? 'open',
    total: (n % 10_000) / 4,
    placedAt: new Date(firstPlacedMs + ((n * 7_919) % 1_000_000) * 60_000).toISOString(),
    note: `Leave it at the door of house ${n % 500}, please.`,
  };
}

export const customerOf = (n: number) => ({
  name: `Customer ${n}`,
  email: `customer-${n}@example.com`,
  country: ['de', 'fr', 'it', 'us'][n % 4] ?? 'de',
});
