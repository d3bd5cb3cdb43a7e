import type { Migrations } from '@drover/database';

export const assignmentMigrations: Migrations = {
  component: 'assignments',
  steps: [
    {
      name: 'collection workers, assignments and routes',
      sql: `
        create sequence drover.assignment_generations;
        create table drover.collection_workers (
          id text primary key,
          status text not null check (status in ('STARTING', 'READY', 'DRAINING', 'OFFLINE', 'FAILED')),
          -- Grows with each registration: heartbeats of an earlier process with the same id are refused.
          incarnation bigint not null default 1,
          base_url text not null,
          pod_name text,
          namespace text,
          pool text not null,
          capacity integer not null,
          tenant_affinity text,
          zone text,
          labels jsonb not null,
          load jsonb,
          last_heartbeat timestamptz not null default now(),
          created_at timestamptz not null default now(),
          updated_at timestamptz not null default now()
        );
        create table drover.collection_assignments (
          collection_id uuid not null references drover.collections on delete cascade,
          worker_id text not null references drover.collection_workers on delete cascade,
          tenant_id text collate "C" not null,
          status text not null check (status in ('PENDING', 'INITIALIZING', 'READY', 'DRAINING', 'REMOVED')),
          generation bigint not null,
          -- The worker that this one takes over from.
          replaces text,
          manual boolean not null default false,
          problem text,
          -- CPU milliseconds per second, smoothed.
          load double precision not null default 0,
          assigned_at timestamptz not null default now(),
          ready_at timestamptz,
          primary key (collection_id, worker_id)
        );
        create index collection_assignments_of_worker on drover.collection_assignments (worker_id) where status <> 'REMOVED';
        -- What gateways need, written in the transaction that changes the assignments.
        create table drover.collection_routes (
          collection_id uuid primary key references drover.collections on delete cascade,
          generation bigint not null,
          endpoints jsonb not null
        )`,
    },
    {
      name: 'pools that lack workers',
      sql: `
        -- What the last pass could not place: the scale controller starts workers for it. No row: the pool lacks nothing.
        create table drover.collection_pools (
          pool text primary key,
          -- Collections that lack replicas.
          unassigned integer not null,
          -- Replicas that they lack together.
          missing integer not null
        )`,
    },
    {
      name: 'passes, drains and exclusions',
      sql: `
        -- The worker was told, or said, that it is to leave. Until it registers again it gets no collection.
        alter table drover.collection_workers add column is_draining boolean not null default false;
        -- Taken from the worker by hand: it does not get the collection again.
        alter table drover.collection_assignments add column excluded boolean not null default false;
        -- When the scale controller was last asked for workers.
        alter table drover.collection_pools add column asked_at timestamptz;
        -- One row: what the replicas of the control plane have to know of each other's passes.
        create table drover.assignment_passes (
          id boolean primary key default true check (id),
          checked_at timestamptz not null default now(),
          -- Since when the control plane has been there to take heartbeats.
          watching_since timestamptz not null default now(),
          passed_at timestamptz,
          -- Of all facts after the last pass, without loads: a pass over the same facts would change nothing.
          fingerprint text
        );
        insert into drover.assignment_passes default values`,
    },
    {
      name: 'collections that could not be prepared, and processes of workers',
      sql: `
        -- Since when the worker has not been able to prepare the collection. Stays after the worker has given it up.
        alter table drover.collection_assignments add column failed_at timestamptz;
        -- Of the process that registered: it may register again without becoming another one.
        alter table drover.collection_workers add column process_token text;
        alter table drover.collection_workers add column is_overloaded boolean not null default false`,
    },
  ],
};
