import type { Migrations } from '@drover/database';

export const controlPlaneMigrations: Migrations = {
  component: 'control-plane',
  steps: [
    {
      name: 'API keys',
      sql: `
        create table drover.api_keys (
          id text primary key,
          tenant_id text not null,
          name text not null,
          -- SHA-256 of the secret: 256 random bits need no slow hash
          digest bytea not null,
          scopes text[] not null,
          -- the key from DROVER_BOOTSTRAP_KEY_FILE, of which there is one
          bootstrap boolean not null default false,
          generation bigint not null default 1,
          created_at timestamptz not null default now(),
          expires_at timestamptz,
          revoked_at timestamptz,
          last_used_at timestamptz
        );
        create index api_keys_of_tenant on drover.api_keys (tenant_id, created_at, id);
        create unique index api_keys_one_bootstrap on drover.api_keys (bootstrap) where bootstrap and revoked_at is null`,
    },
  ],
};
