import type { Clock, Randomness } from '@drover/service-kit';
import type { InputValue } from '../binding-extension.js';
import { tableUnavailable, triggerOptionsInvalid } from '../errors.js';
import { retrying } from '../storage/retrying.js';
import { isTransient, storageReason } from '../storage/storage-failure.js';
import { tableFailureOf, TableResultTooLarge, type AzureTable } from './azure-table.js';
import type { TableOptions } from './table-options.js';

interface TableInputRequest {
  readonly functionName: string;
  readonly table: AzureTable;
  readonly options: TableOptions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
}

/** A worker takes messages of 128 MiB; characters may take several bytes. */
const maxLength = 32 * 1_024 * 1_024;
/** A query may have many pages. */
const timeoutMs = 120_000;

/**
 * Reads a table input: with a row key one entity, or undefined if it does not exist; else the list of entities that match. A table
 * that does not exist has no entities.
 */
export async function readTableInput(request: TableInputRequest): Promise<InputValue> {
  const { functionName, table, options, clock, randomness, signal } = request;
  const { partitionKey, rowKey, take } = options;
  const read = async (limited: AbortSignal): Promise<InputValue> => {
    if (rowKey !== undefined) return { json: await table.get(partitionKey ?? '', rowKey, limited) };
    const found = await table.query({ filter: filterOf(options), take, maxLength }, limited);
    return { json: `[${found.join(',')}]` };
  };
  try {
    const mayRetry = (error: unknown): boolean =>
      isTransient(tableFailureOf(error)) && !(error instanceof TableResultTooLarge);
    return await retrying(read, { clock, randomness, signal, mayRetry, timeoutMs });
  } catch (error) {
    signal.throwIfAborted();
    const failure = tableFailureOf(error);
    if (failure === 'entity-missing' || failure === 'table-missing')
      return rowKey === undefined ? { json: '[]' } : undefined;
    const reason = storageReason(error, failure, table.setting);
    if (failure === 'refused' || error instanceof TableResultTooLarge)
      throw triggerOptionsInvalid({ functionName, problems: [`its table input of ${table.name}: ${reason}`] }, error);
    throw tableUnavailable({ table: table.name, operation: 'read', reason }, error);
  }
}

function filterOf({ partitionKey, filter }: TableOptions): string | undefined {
  if (!partitionKey) return filter;
  const ofPartition = `PartitionKey eq '${partitionKey.replaceAll("'", "''")}'`;
  return filter === undefined ? ofPartition : `${ofPartition} and (${filter})`;
}
