import type { Migrations } from './migrate.js';

/** What this package itself keeps. */
export const databaseMigrations: Migrations = {
  component: 'database',
  steps: [
    {
      name: 'leases',
      sql: `
        create table drover.leases (
          name text primary key,
          holder text not null,
          token bigint not null,
          expires_at timestamptz not null
        )`,
    },
  ],
};
