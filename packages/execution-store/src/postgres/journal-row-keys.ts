import type { BinaryArrays } from './binary-arrays.js';
import type { OwnershipTerm } from './journaled-executions.js';

/** Writes `PartitionClaims`. The caller passes terms in ascending order of partitions: all replicas take locks in this order. */
export function writePartitionClaims(arrays: BinaryArrays, terms: readonly OwnershipTerm[]): void {
  arrays.begin('integer', terms.length);
  for (const { partition } of terms) arrays.integer(partition);
  arrays.begin('bigint', terms.length);
  for (const { token } of terms) arrays.bigint(token);
}

/** Writes `JournalRowKeys`. A row without a token of its own was written under that of its term. */
export function writeRowKeys(
  arrays: BinaryArrays,
  rows: readonly { readonly term: OwnershipTerm; readonly token?: number; readonly number: number }[],
): void {
  arrays.begin('integer', rows.length);
  for (const { term } of rows) arrays.integer(term.partition);
  arrays.begin('bigint', rows.length);
  for (const { term, token = term.token } of rows) arrays.bigint(token);
  arrays.begin('bigint', rows.length);
  for (const { number } of rows) arrays.bigint(number);
}

/** The terms of rows, one per partition, in ascending order. */
export function termsOf(rows: readonly { readonly term: OwnershipTerm }[]): OwnershipTerm[] {
  const terms = new Map(rows.map(({ term }) => [term.partition, term]));
  return [...terms.values()].toSorted((a, b) => a.partition - b.partition);
}
