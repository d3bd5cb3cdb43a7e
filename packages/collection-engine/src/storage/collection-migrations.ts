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
          -- Keys of fields that were removed, and of which no JSONB document holds a value any more.
          cleaned_columns text[] not null default '{}',
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
        -- A change of a definition that a runner carries out. Its steps follow from the two definitions, and each may run again.
        create table drover.collection_changes (
          id uuid primary key,
          collection_id uuid not null references drover.collections on delete cascade,
          from_version bigint not null,
          definition jsonb not null,
          columns jsonb not null,
          state text not null check (state in ('running', 'done', 'refused')),
          step text not null default '',
          records_done bigint not null default 0,
          records_total bigint,
          refusals jsonb not null default '[]',
          created_at timestamptz not null default now(),
          created_by text not null,
          ended_at timestamptz
        );
        create unique index collection_changes_running on drover.collection_changes (collection_id) where state = 'running';
        create index collection_changes_of_collection on drover.collection_changes (collection_id, created_at);
        -- Tables with columns, indexes or triggers that no definition needs any more, or of a removed collection.
        create table drover.collection_cleanups (
          table_name text primary key,
          collection_id uuid not null,
          due_at timestamptz not null
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
          data jsonb not null
        ) partition by list (collection_id); -- each partition has a primary key (id): statements name the partition
        -- Both return null for a text that is no date or no time. For changes of types; not for indexes.
        create function drover.text_to_date(value text) returns date language plpgsql stable strict as $$
          begin
            if value !~ '^\\d{4}-\\d{2}-\\d{2}$' then return null; end if;
            return value::date;
          exception when others then return null;
          end $$;
        create function drover.text_to_datetime(value text) returns timestamptz language plpgsql stable strict as $$
          begin
            if value !~ '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}' then return null; end if;
            if value !~ '(Z|[+-]\\d{2}:?\\d{2})$' then return null; end if;
            return value::timestamptz;
          exception when others then return null;
          end $$;
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
        insert into drover.record_event_state default values;
        -- One row: events up to this position are on the event bus, if they are published there.
        create table drover.record_publisher_cursor (
          only_row boolean primary key default true check (only_row),
          position bigint not null default 0
        );
        insert into drover.record_publisher_cursor default values`,
    },
    {
      name: 'idempotency keys of writes',
      sql: `
        -- Written by the statement that writes the records; each new key removes two that are older than a day.
        create table drover.record_idempotency_keys (
          tenant_id text collate "C" not null,
          key text collate "C" not null,
          fingerprint text not null,
          answer text not null,
          created_at timestamptz not null default now(),
          primary key (tenant_id, key)
        );
        create index record_idempotency_keys_by_age on drover.record_idempotency_keys (created_at)`,
    },
    {
      name: 'sets of changes',
      sql: `
        -- Changes that become current together. The collections in created are created in the same transaction.
        create table drover.collection_change_sets (
          id uuid primary key,
          size integer not null,
          created jsonb not null,
          created_at timestamptz not null default now()
        );
        alter table drover.collection_changes
          add set_id uuid references drover.collection_change_sets,
          -- New names, by former ones, of collections that fields refer to and that the set renames.
          add renamed_targets jsonb not null default '{}',
          -- Everything is done that comes before the switch, which waits for the other changes of the set.
          add is_prepared boolean not null default false;
        create index collection_changes_of_set on drover.collection_changes (set_id) where set_id is not null`,
    },
    {
      name: 'changes that functions gave up',
      sql: `
        -- Has the change itself, so that it outlives the retention of record events.
        create table drover.failed_changes (
          id bigint generated always as identity primary key,
          tenant_id text collate "C" not null,
          application text collate "C" not null,
          function_name text collate "C" not null,
          collection_id uuid not null references drover.collections on delete cascade,
          record_id uuid not null,
          position bigint not null,
          kind text not null,
          change text not null,
          reason text not null,
          deliveries integer not null,
          failed_at timestamptz not null default now(),
          replaying boolean not null default false,
          unique (tenant_id, application, function_name, collection_id, position)
        );
        create index failed_changes_of_collection on drover.failed_changes (collection_id);
        create index failed_changes_by_age on drover.failed_changes (failed_at);
        create index failed_changes_replaying on drover.failed_changes
          (tenant_id, application, function_name, collection_id, position) where replaying`,
    },
    {
      name: 'picklists',
      sql: `
        create table drover.picklists (
          tenant_id text collate "C" not null,
          name text collate "C" not null,
          version bigint not null default 1,
          definition jsonb not null,
          updated_at timestamptz not null default now(),
          updated_by text not null,
          primary key (tenant_id, name)
        );
        -- The picklist that gets another definition when the changes of the set become current.
        alter table drover.collection_change_sets add picklist jsonb`,
    },
    {
      name: 'references to deleted records',
      sql: `
        -- What an optional lookup referred to when that record was marked as deleted; its column is null meanwhile.
        create table drover.hidden_references (
          collection_id uuid not null references drover.collections on delete cascade,
          record_id uuid not null,
          -- Column, or key of the JSONB document, of the lookup.
          column_name text collate "C" not null,
          target_id uuid not null,
          primary key (collection_id, record_id, column_name)
        );
        create index hidden_references_by_target on drover.hidden_references (target_id)`,
    },
  ],
};
