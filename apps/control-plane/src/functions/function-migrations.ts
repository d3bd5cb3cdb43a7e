import type { Migrations } from '@drover/database';

export const functionMigrations: Migrations = {
  component: 'functions',
  steps: [
    {
      name: 'functions',
      sql: `
        -- one for all functions, and never set back: whoever is registered later has the higher number
        create sequence drover.function_generations as bigint;
        create table drover.functions (
          tenant_id text not null,
          -- byte order, so that lists come in the same order from every database
          name text collate "C" not null,
          generation bigint not null,
          revision bigint not null default 1,
          -- as it was sent, with the numbers settled; without env
          spec jsonb not null,
          -- names are shown, so they can be read without the key
          env_names text[] not null default '{}',
          -- AES-256-GCM, see env-cipher.ts
          env bytea,
          created_at timestamptz not null default now(),
          updated_at timestamptz not null default now(),
          primary key (tenant_id, name)
        )`,
    },
    {
      name: 'queues of functions',
      sql: `
        -- what a caller has decided about the queue of a function; also of functions of applications, which have no row of their own
        create table drover.function_queues (
          tenant_id text not null,
          name text collate "C" not null,
          state text not null,
          -- the function is removed when its queue is empty
          removing boolean not null default false,
          changed_at timestamptz not null default now(),
          primary key (tenant_id, name)
        )`,
    },
    {
      name: 'secrets of callbacks',
      sql: `
        create table drover.callback_secrets (
          tenant_id text not null,
          id text not null,
          -- empty: signs the callbacks of all functions that have no secret of their own
          function_name text collate "C" not null,
          -- AES-256-GCM, see env-cipher.ts
          sealed bytea not null,
          created_at timestamptz not null,
          expires_at timestamptz,
          primary key (tenant_id, id)
        )`,
    },
    {
      name: 'runs of schedules',
      sql: `
        create index functions_with_schedule on drover.functions (tenant_id, name) where spec ? 'schedule';
        -- up to which time the runs of a schedule are done; another schedule of the same function begins anew
        create table drover.function_schedule_runs (
          tenant_id text not null,
          name text collate "C" not null,
          generation bigint not null,
          schedule jsonb not null,
          after_at timestamptz not null,
          primary key (tenant_id, name)
        )`,
    },
  ],
};
