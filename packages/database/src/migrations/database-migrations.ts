import type { Migrations } from './migrate.js';

/**
 * Tables of this package. `leases` has no reader any more: `@drover/ownership` replaced it. The step stays because a database that has
 * it must find it here.
 */
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
