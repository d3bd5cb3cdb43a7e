import { importedOrders, orderOf, type Order } from './orders.js';
import type { CollectionsApi } from './collections-api.js';

const names: readonly (keyof Order)[] = ['number', 'customer', 'status', 'total', 'placedAt', 'note'];

/** Bytes of a CSV file with `rows` orders, made before the clock runs. */
export function csvOf(rows: number, mark: string): Buffer {
  const lines = Array.from({ length: rows }, (_, n) => {
    const order = orderOf(n, `${mark}-${n}`);
    return names.map((name) => (name === 'note' ? `"${order[name]}"` : order[name])).join(',');
  });
  return Buffer.from(`${names.join(',')}\n${lines.join('\n')}\n`);
}

/** Imports a CSV file into a new collection; returns rows per second, from the first byte sent to the last one of the answer. */
export async function importRate(api: CollectionsApi, file: Buffer, rows: number, name: string): Promise<number> {
  await api.define(importedOrders(name));
  const startedMs = performance.now();
  const { created } = await api.import(name, file, 'text/csv');
  const elapsedMs = performance.now() - startedMs;
  if (created !== rows) throw new Error(`${created} of ${rows} rows were imported`);
  await api.remove(name);
  return rows / (elapsedMs / 1_000);
}

/** Posts a definition and asks for its records until they are answered with 200; returns how long that took. */
export async function definitionMs(api: CollectionsApi, name: string, through: 'platform' | 'worker'): Promise<number> {
  const startedMs = performance.now();
  await api.define(importedOrders(name));
  while ((await api.listStatus(name, through)) !== 200) {
    if (performance.now() - startedMs > 10_000) throw new Error(`${name} is not served after ten seconds`);
  }
  const elapsedMs = performance.now() - startedMs;
  await api.remove(name);
  return elapsedMs;
}
