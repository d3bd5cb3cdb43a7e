import type { Migrations } from '@drover/database';

export const collectionMigrations: Migrations = {
  component: 'collections',
  steps: [
    {
      name: 'definitions, records and record events',
      sql: `
        create schema if not exists drover_records;
        create table drover.collections (
          id uuid primary key,
          tenant_id text collate "C" not null,
          name text collate "C" not null,
          version bigint not null,
          created_at timestamptz not null default now(),
          created_by text not null,
          unique (tenant_id, name)
        );
        create table drover.collection_versions (
          collection_id uuid not null references drover.collections on delete cascade,
          version bigint not null,
          definition jsonb not null,
          table_name text not null,
          columns jsonb not null,
          created_at timestamptz not null default now(),
          created_by text not null,
          primary key (collection_id, version)
        );
        create table drover_records.jsonb_records (
          tenant_id text collate "C" not null,
          collection_id uuid not null,
          id uuid not null,
          version bigint not null default 1,
          created_at timestamptz not null default now(),
          updated_at timestamptz not null default now(),
          created_by text not null,
          updated_by text not null,
          deleted_at timestamptz,
          data jsonb not null,
          primary key (collection_id, id)
        ) partition by list (collection_id);
        -- Written by the statement that writes the record. An id is taken after the row of the record is locked: ids of one record
        -- grow with its versions. Readers must not pass an id that is missing until its transaction is known to have ended.
        create table drover.record_events (
          id bigint generated always as identity primary key,
          tenant_id text collate "C" not null,
          collection_id uuid not null,
          record_id uuid not null,
          version bigint not null,
          kind text not null check (kind in ('created', 'updated', 'deleted', 'restored')),
          before jsonb,
          after jsonb,
          actor text not null,
          at timestamptz not null default clock_timestamp()
        );
        create index record_events_of_record on drover.record_events (collection_id, record_id, id)`,
    },
    {
      name: 'positions of record events',
      sql: `
        create index record_events_of_collection on drover.record_events (collection_id, id);
        -- One row. All events up to the frontier are visible or will never exist; retention has removed events up to trimmed.
        create table drover.record_event_state (
          only_row boolean primary key default true check (only_row),
          frontier bigint not null default 0,
          trimmed bigint not null default 0
        );
        insert into drover.record_event_state default values`,
    },
  ],
};
