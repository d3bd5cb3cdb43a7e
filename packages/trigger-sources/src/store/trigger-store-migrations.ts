import type { Migrations } from '@drover/database';

/** The table of `PostgresTriggerStore`. The runtime applies it at the first use: a runtime may run without a control plane. */
export const triggerStoreMigrations: Migrations = {
  component: 'trigger-store',
  steps: [
    {
      name: 'states of triggers',
      sql: `
        -- not a counter per row: a key that was removed and written again must not get an old version
        create sequence drover.trigger_state_versions;
        create table drover.trigger_states (
          -- the C collation lets a search by prefix use the index
          key text collate "C" primary key,
          value text not null,
          version bigint not null default nextval('drover.trigger_state_versions'),
          written_at timestamptz not null default clock_timestamp()
        )`,
    },
  ],
};
