import { count, gauge, seconds, type Readers } from '@drover/service-kit';

export type DatabaseObservation =
  | { readonly kind: 'database.connected'; readonly server: string; readonly version: string }
  | { readonly kind: 'database.awaited'; readonly server: string; readonly reason: string }
  | {
      readonly kind: 'database.connection-lost';
      readonly server: string;
      readonly purpose: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'database.connection-restored';
      readonly server: string;
      readonly purpose: string;
      readonly attempts: number;
    }
  | { readonly kind: 'database.transaction-retried'; readonly attempt: number; readonly sqlState: string }
  | {
      readonly kind: 'database.migrated';
      readonly component: string;
      readonly number: number;
      readonly name: string;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'database.rows-committed';
      readonly name: string;
      readonly rows: number;
      readonly durationMs: number;
      readonly waiting: number;
    };

export const databaseReaders: Readers<DatabaseObservation> = {
  'database.connected': {
    level: 'info',
    isInternal: true,
    say: (o) => `PostgreSQL ${o.version} at ${o.server} is connected`,
  },
  'database.awaited': {
    level: 'warn',
    say: (o) => `PostgreSQL at ${o.server} is not ready: ${o.reason}. The start waits for it.`,
  },
  'database.connection-lost': {
    level: 'warn',
    say: (o) => `the ${o.purpose} connection to PostgreSQL at ${o.server} broke: ${o.reason}; it reconnects`,
    metrics: [
      count('drover_database_connections_lost_total', 'Connections to PostgreSQL that broke', {
        labelNames: ['purpose'],
        labels: (o) => ({ purpose: o.purpose }),
      }),
    ],
  },
  'database.connection-restored': {
    level: 'info',
    say: (o) => `the ${o.purpose} connection to PostgreSQL at ${o.server} is restored after ${o.attempts} attempts`,
  },
  'database.transaction-retried': {
    level: 'debug',
    say: (o) => `a transaction is retried after SQLSTATE ${o.sqlState} (attempt ${o.attempt})`,
    metrics: [
      count('drover_database_transaction_retries_total', 'Transactions that were retried after a conflict', {
        labelNames: ['sql_state'],
        labels: (o) => ({ sql_state: o.sqlState }),
      }),
    ],
  },
  'database.migrated': {
    level: 'debug',
    say: (o) => `the database schema of ${o.component} was migrated to ${o.number} (${o.name})`,
  },
  'database.rows-committed': {
    level: 'debug',
    say: (o) => `${o.name}: committed ${o.rows} rows in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      count('drover_database_group_commit_rows_total', 'Rows written by group commits', {
        labelNames: ['name'],
        labels: (o) => ({ name: o.name }),
        value: (o) => o.rows,
      }),
      seconds('drover_database_group_commit_seconds', 'Duration of one group commit', {
        labelNames: ['name'],
        labels: (o) => ({ name: o.name }),
        valueMs: (o) => o.durationMs,
      }),
      gauge('drover_database_group_commit_waiting_rows', 'Rows that waited when the latest group commit ended', {
        labelNames: ['name'],
        labels: (o) => ({ name: o.name }),
        value: (o) => o.waiting,
      }),
    ],
  },
};
