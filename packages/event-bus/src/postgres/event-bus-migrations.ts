import type { Migrations } from '@drover/database';

export const eventBusMigrations: Migrations = {
  component: 'event-bus',
  steps: [
    {
      name: 'outbox, events and cursors',
      sql: `
        -- Written in the transaction of whoever publishes; emptied by the relay.
        create table drover.outbox (
          id bigint generated always as identity primary key,
          topic text not null,
          key text not null,
          generation bigint not null,
          payload jsonb not null,
          published_at timestamptz not null default clock_timestamp()
        );
        -- In the order in which the relay found them: a reader that has seen a position has seen everything before it.
        create table drover.events (
          position bigint primary key,
          topic text not null,
          key text not null,
          generation bigint not null,
          payload jsonb not null,
          published_at timestamptz not null
        );
        create table drover.event_head (
          single boolean primary key default true check (single),
          position bigint not null default 0,
          trimmed bigint not null default 0
        );
        insert into drover.event_head default values;
        create table drover.event_cursors (
          subscriber text primary key,
          position bigint not null,
          updated_at timestamptz not null default now()
        )`,
    },
  ],
};
