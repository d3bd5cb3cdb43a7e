import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { tableEntityConflict, tableEntityInvalid, tableUnavailable } from '../errors.js';
import { retrying } from '../storage/retrying.js';
import { isTransient, storageReason } from '../storage/storage-failure.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import { tableFailureOf, type AzureTable } from './azure-table.js';
import type { TableObservation } from './observations.js';
import { parseEntity, type NewEntity } from './table-entity.js';
import type { TableOptions } from './table-options.js';

interface TableOutputOptions {
  readonly functionName: string;
  readonly table: AzureTable;
  readonly options: TableOptions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TableObservation>;
}

/** Limit of the service for one transaction. */
const mostInTransaction = 100;

/**
 * Writes entities to one table and creates it if it is missing. Entities of one partition are written together, in the order of the
 * function; if `send` fails, those of other partitions may have been stored.
 */
export class TableOutput implements OutputTarget {
  readonly #options: TableOutputOptions;

  constructor(options: TableOutputOptions) {
    this.#options = options;
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, table, observe } = this.#options;
    // All entities are read before the first is written, so that an invalid one fails the whole call.
    const entities = messages.map(({ body }) => this.#parse(body));
    for (const transaction of toTransactions(entities)) await this.#write(transaction, signal);
    observe({ kind: 'table.written', functionName, table: table.name, entities: entities.length });
  }

  #parse(body: string | Uint8Array): NewEntity {
    const { table, options } = this.#options;
    const parsed = parseEntity(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'), options);
    if ('value' in parsed) return parsed.value;
    throw tableEntityInvalid({ table: table.name, problem: parsed.problem });
  }

  async #write(entities: readonly NewEntity[], signal: AbortSignal): Promise<void> {
    const { functionName, table, clock, randomness, observe } = this.#options;
    let attempts = 0;
    const write = async (limited: AbortSignal): Promise<void> => {
      attempts += 1;
      try {
        await table.write(entities, limited);
      } catch (error) {
        if (!isMissing(error, entities)) throw error;
        await table.create(limited);
        observe({ kind: 'table.created', functionName, table: table.name });
        await table.write(entities, limited);
      }
    };
    try {
      await retrying(write, { clock, randomness, signal, mayRetry: (error) => isTransient(tableFailureOf(error)) });
    } catch (error) {
      signal.throwIfAborted();
      // The response of an earlier attempt was lost: what is in the way is what it wrote.
      if (attempts > 1 && tableFailureOf(error) === 'exists' && (await this.#hasOwn(entities, signal))) return;
      throw this.#failed(error, entities);
    }
  }

  /** Whether the first entity is stored as it was to be written; a transaction stores all entities or none. */
  async #hasOwn([first]: readonly NewEntity[], signal: AbortSignal): Promise<boolean> {
    if (!first) return false;
    try {
      const stored = parseEntity(await this.#options.table.get(first.partitionKey, first.rowKey, signal), {
        partitionKey: undefined,
        rowKey: undefined,
      });
      return 'value' in stored && sameProperties(stored.value, first);
    } catch {
      return false;
    }
  }

  #failed(error: unknown, entities: readonly NewEntity[]): Error {
    const { table } = this.#options;
    const failure = tableFailureOf(error);
    const keys = entities.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`);
    const which =
      keys.length === 1
        ? `entity ${keys[0]}`
        : `one of the entities ${keys.slice(0, 5).join(', ')}${keys.length > 5 ? ', …' : ''}`;
    const text = error instanceof Error ? error.message : String(error);
    switch (failure) {
      case 'exists': {
        const problem = `${which} exists already. An output adds entities; to replace one, set its ETag to "*"`;
        return tableEntityConflict({ table: table.name, problem }, error);
      }
      case 'changed':
      case 'entity-missing': {
        const problem = `${which} is not the version that its ETag names. Read it again, or set its ETag to "*"`;
        return tableEntityConflict({ table: table.name, problem }, error);
      }
      case 'refused':
        return tableEntityInvalid(
          { table: table.name, problem: `is refused by the service (${which}): ${text}` },
          error,
        );
      default: {
        const reason = storageReason(error, failure, table.setting);
        return tableUnavailable({ table: table.name, operation: 'write', reason }, error);
      }
    }
  }
}

/** A missing table is reported as a missing resource, too; a missing entity only if one is to be replaced. */
function isMissing(error: unknown, entities: readonly NewEntity[]): boolean {
  const failure = tableFailureOf(error);
  const replaces = entities.some(({ etag }) => etag !== undefined && etag !== '*');
  return failure === 'table-missing' || (failure === 'entity-missing' && !replaces);
}

/** Groups entities by partition into transactions. One that comes twice starts another transaction, so that the last one remains. */
export function toTransactions(entities: readonly NewEntity[]): readonly (readonly NewEntity[])[] {
  const transactions: NewEntity[][] = [];
  const open = new Map<string, { readonly entities: NewEntity[]; readonly rowKeys: Set<string> }>();
  for (const entity of entities) {
    const { partitionKey, rowKey } = entity;
    let current = open.get(partitionKey);
    if (!current || current.rowKeys.has(rowKey) || current.entities.length >= mostInTransaction) {
      current = { entities: [], rowKeys: new Set() };
      open.set(partitionKey, current);
      transactions.push(current.entities);
    }
    current.entities.push(entity);
    current.rowKeys.add(rowKey);
  }
  return transactions;
}

function sameProperties(stored: NewEntity, own: NewEntity): boolean {
  const names = Object.keys(own.properties);
  return (
    Object.keys(stored.properties).length === names.length &&
    names.every((name) => String(stored.properties[name]?.value) === String(own.properties[name]?.value))
  );
}
