import type { Migrations } from '@drover/database';

/**
 * Owners of partitions and the replicas that may own them. Applied steps are fixed, and the names in them are older than the words of
 * this package: `execution_homes` are the partitions, `holder` is the owner.
 */
export const ownershipMigrations: Migrations = {
  component: 'homes',
  steps: [
    {
      name: 'replicas and the homes of executions',
      sql: `
        create table drover.control_plane_replicas (
          id text primary key,
          -- where the other replicas reach it
          url text not null,
          joined_at timestamptz not null default clock_timestamp(),
          -- hands over what it has and takes nothing more
          draining boolean not null default false,
          -- renewed while it lives: what it holds, it holds until then
          expires_at timestamptz not null
        );
        create table drover.execution_homes (
          partition integer primary key,
          -- null while nobody is the home; one without a row among the replicas is nobody
          holder text,
          -- grows with every change of holder: a write under an older one is refused
          token bigint not null
        );
        insert into drover.execution_homes (partition, token) select number, 0 from generate_series(0, 15) as number`,
    },
  ],
};
