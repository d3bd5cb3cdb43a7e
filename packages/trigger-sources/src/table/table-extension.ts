import { BoundedMap } from '@drover/service-kit';
import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  InputValue,
} from '../binding-extension.js';
import { storageConnection } from '../storage/storage-connection.js';
import type { OutputTarget } from '../trigger-source.js';
import { AzureTable } from './azure-table.js';
import type { TableObservation } from './observations.js';
import { readTableInput } from './table-input.js';
import { tableOptions } from './table-options.js';
import { TableOutput } from './table-output.js';

type TableParts = ExtensionParts<unknown, TableObservation>;

/** The tables of one application: one client per table. */
class TableExtension implements BindingExtension {
  readonly #parts: TableParts;
  /** Bounded, since table names can be built from messages. Beyond the bound, a client is created for each use. */
  readonly #tables = new BoundedMap<string, AzureTable>({ maxWeight: 1_000, whenFull: 'reject' });

  constructor(parts: TableParts) {
    this.#parts = parts;
  }

  async read(input: BindingRequest, signal: AbortSignal): Promise<InputValue> {
    const { functionName } = input;
    const { clock, randomness } = this.#parts;
    const options = tableOptions({ functionName, binding: input.options }, 'input');
    const table = this.#table(input, options.tableName);
    return await readTableInput({ functionName, table, options, clock, randomness, signal });
  }

  target(output: BindingRequest): OutputTarget {
    const { functionName } = output;
    const { clock, randomness, observe } = this.#parts;
    const options = tableOptions({ functionName, binding: output.options }, 'output');
    const table = this.#table(output, options.tableName);
    return new TableOutput({ functionName, table, options, clock, randomness, observe });
  }

  #table({ functionName, options }: BindingRequest, name: string): AzureTable {
    const connection = typeof options['connection'] === 'string' ? options['connection'] : undefined;
    const key = `${connection ?? ''}\n${name}`;
    const known = this.#tables.get(key);
    if (known) return known;
    const { settings } = this.#parts;
    const table = new AzureTable(name, storageConnection({ service: 'table', functionName, connection, settings }));
    this.#tables.set(key, table);
    return table;
  }
}

export const tableExtension: BindingExtensionFactory<unknown, TableObservation> = {
  types: { triggers: [], inputs: ['table'], outputs: ['table'] },
  create: (parts) => new TableExtension(parts),
};
