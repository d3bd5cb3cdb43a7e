import type { Migrations } from '@drover/database';

export const scaleControllerMigrations: Migrations = {
  component: 'scale-controller',
  steps: [
    {
      name: 'leadership and the desired state',
      sql: `
        create table drover.scale_leader (
          id integer primary key check (id = 1),
          -- null: it resigned
          holder text,
          -- grows with every change of leader: every action carries it, and a lower one is refused
          token bigint not null,
          expires_at timestamptz not null
        );
        insert into drover.scale_leader (id, token, expires_at) values (1, 0, '-infinity');
        create table drover.scale_applications (
          application text collate "C" primary key,
          desired integer not null,
          -- the runtime that hosts it
          runtime_id text
        );
        create table drover.scale_workers (
          worker_id text collate "C" primary key,
          runtime_id text not null,
          incarnation text not null,
          endpoint text not null,
          request_id text not null,
          -- null for a placeholder
          version_key text collate "C",
          isolated boolean not null,
          -- milliseconds since the epoch, by the clock of the leader that started it
          started_at_ms double precision not null
        );
        create table drover.scale_decisions (
          application text collate "C" not null,
          position bigint generated always as identity,
          at_ms double precision not null,
          decision jsonb not null,
          primary key (application, position)
        )`,
    },
  ],
};
