import type { Migrations } from '@drover/database';

export const applicationCatalogMigrations: Migrations = {
  component: 'application-catalog',
  steps: [
    {
      name: 'deployed applications',
      sql: `
        create sequence drover.application_generations;
        create table drover.applications (
          tenant_id text collate "C" not null,
          application_id text collate "C" not null,
          -- from the sequence: grows also when an application is removed and deployed again
          generation bigint not null,
          traffic jsonb not null,
          scaling jsonb not null,
          rollback jsonb not null,
          deleting boolean not null default false,
          traffic_changed_at timestamptz not null default now(),
          primary key (tenant_id, application_id)
        );
        create table drover.application_payloads (
          tenant_id text collate "C" not null,
          digest text collate "C" not null,
          bytes bigint not null,
          files integer not null,
          uploaded_at timestamptz not null default now(),
          primary key (tenant_id, digest)
        );
        create table drover.application_versions (
          tenant_id text collate "C" not null,
          application_id text collate "C" not null,
          code_version text collate "C" not null,
          metadata_version text not null,
          source jsonb not null,
          -- keeps the payload while a version needs it; null for a folder
          payload_digest text collate "C",
          function_index jsonb not null,
          setting_names text[] not null,
          -- encrypted; null: no settings
          settings bytea,
          rolled_back boolean not null default false,
          -- generation of its last deployment: the order of versions
          deployed_generation bigint not null,
          deployed_at timestamptz not null default now(),
          primary key (tenant_id, application_id, code_version),
          foreign key (tenant_id, application_id) references drover.applications on delete cascade,
          foreign key (tenant_id, payload_digest) references drover.application_payloads
        );
        create index application_versions_of_payload on drover.application_versions (tenant_id, payload_digest);
        create table drover.application_changes (
          tenant_id text collate "C" not null,
          application_id text collate "C" not null,
          generation bigint not null,
          kind text not null,
          traffic jsonb not null,
          reason text not null,
          changed_at timestamptz not null default now(),
          primary key (tenant_id, application_id, generation),
          foreign key (tenant_id, application_id) references drover.applications on delete cascade
        )`,
    },
  ],
};
