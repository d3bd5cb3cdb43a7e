import { count, type Readers } from '@drover/service-kit';

interface Place {
  /** The function of the output. */
  readonly functionName: string;
  readonly table: string;
}

export type TableObservation =
  /** Created because an output writes to it. */
  | (Place & { readonly kind: 'table.created' })
  | (Place & { readonly kind: 'table.written'; readonly entities: number });

export const tableReaders: Readers<TableObservation> = {
  'table.created': { level: 'info', say: (o) => `created table ${o.table}, an output of ${o.functionName}` },
  'table.written': {
    level: 'debug',
    say: (o) => `${o.functionName} wrote ${o.entities} entities to table ${o.table}`,
    metrics: [
      count<Place & { readonly entities: number }, 'function' | 'table'>(
        'drover_table_entities_written_total',
        'Entities written by output bindings',
        {
          labelNames: ['function', 'table'],
          labels: (o) => ({ function: o.functionName, table: o.table }),
          value: (o) => o.entities,
        },
      ),
    ],
  },
};
