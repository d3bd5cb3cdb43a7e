import type { Migrations } from '@drover/database';

export const webhookMigrations: Migrations = {
  component: 'webhooks',
  steps: [
    {
      name: 'webhooks and their deliveries',
      sql: `
        create table drover.webhooks (
          id uuid primary key,
          tenant_id text collate "C" not null,
          collection_id uuid not null references drover.collections on delete cascade,
          url text not null,
          kinds text[] not null,
          sealed bytea not null,
          active boolean not null default true,
          -- Only changes after this position are sent.
          from_position bigint not null,
          created_at timestamptz not null default now(),
          created_by text not null
        );
        create index webhooks_of_tenant on drover.webhooks (tenant_id, created_at);
        create index webhooks_of_collection on drover.webhooks (collection_id);
        create table drover.webhook_deliveries (
          webhook_id uuid not null references drover.webhooks on delete cascade,
          event_id bigint not null,
          record_id uuid not null,
          state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
          attempts integer not null default 0,
          due_at timestamptz not null default now(),
          attempted_at timestamptz,
          problem text,
          primary key (webhook_id, event_id)
        );
        create index webhook_deliveries_due on drover.webhook_deliveries (due_at) where state = 'waiting';
        create index webhook_deliveries_in_order on drover.webhook_deliveries (webhook_id, record_id, event_id) where state = 'waiting';
        create index webhook_deliveries_ended on drover.webhook_deliveries (attempted_at) where state <> 'waiting';
        -- One row: changes up to this position have their deliveries.
        create table drover.webhook_cursor (
          only_row boolean primary key default true check (only_row),
          position bigint not null default 0
        );
        insert into drover.webhook_cursor default values`,
    },
    {
      name: 'former secrets of webhooks',
      sql: `
        alter table drover.webhooks
          add column former_sealed bytea,
          -- The former secret signs until then, beside the current one.
          add column former_until timestamptz`,
    },
    {
      name: 'due deliveries of each webhook',
      sql: `
        create index webhook_deliveries_due_of_webhook on drover.webhook_deliveries (webhook_id, due_at) where state = 'waiting';
        drop index drover.webhook_deliveries_due`,
    },
  ],
};
