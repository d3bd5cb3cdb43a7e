import type { RollbackPolicy, ScaleSettings, StoredFunctionIndex, TenantId } from '@drover/contracts';
import { prepared } from '@drover/database';
import type {
  ApplicationAddress,
  CatalogApplication,
  CatalogChange,
  CatalogVersion,
  PayloadSource,
  Traffic,
} from '../application-catalog.js';
import type { SettingsSeal } from '../settings-seal.js';

/** An application, joined with one of its versions. */
export interface CatalogRow {
  readonly tenant_id: TenantId;
  readonly application_id: string;
  readonly generation: number;
  readonly traffic: Traffic;
  readonly scaling: ScaleSettings;
  readonly rollback: RollbackPolicy;
  readonly deleting: boolean;
  readonly traffic_changed_at: Date;
  readonly code_version: string | null;
  readonly source: PayloadSource;
  readonly function_index: StoredFunctionIndex;
  readonly setting_names: readonly string[];
  readonly settings: Buffer | null;
  readonly rolled_back: boolean;
  readonly deployed_at: Date;
}

export interface ChangeRow {
  readonly generation: number;
  readonly kind: CatalogChange['kind'];
  readonly traffic: Traffic;
  readonly reason: string;
  readonly changed_at: Date;
}

const joined = `select application.tenant_id, application.application_id, generation, traffic, scaling, rollback, deleting,
    traffic_changed_at, code_version, source, function_index, setting_names, settings, rolled_back, deployed_at
  from drover.applications application left join drover.application_versions using (tenant_id, application_id)`;
const order = 'order by application.tenant_id, application.application_id, deployed_generation';

export const catalogStatements = {
  listAll: prepared('catalog-list-all', `${joined} ${order}`),
  list: prepared('catalog-list', `${joined} where application.tenant_id = $1 ${order}`),
  find: prepared(
    'catalog-find',
    `${joined} where application.tenant_id = $1 and application.application_id = $2 ${order}`,
  ),
  nextGeneration: prepared('catalog-generation', `select nextval('drover.application_generations') as generation`),
  changes: prepared(
    'catalog-changes',
    `select generation, kind, traffic, reason, changed_at from drover.application_changes
     where tenant_id = $1 and application_id = $2 order by generation desc`,
  ),
  putApplication: prepared(
    'catalog-put-application',
    `insert into drover.applications as application (tenant_id, application_id, generation, traffic, scaling, rollback)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (tenant_id, application_id) do update set generation = $3, traffic = $4, scaling = $5, rollback = $6,
       traffic_changed_at = case when application.traffic = $4::jsonb then application.traffic_changed_at else now() end`,
  ),
  putVersion: prepared(
    'catalog-put-version',
    `insert into drover.application_versions (tenant_id, application_id, code_version, metadata_version, source, payload_digest,
       function_index, setting_names, settings, deployed_generation)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (tenant_id, application_id, code_version) do update set metadata_version = $4, source = $5, payload_digest = $6,
       function_index = $7, setting_names = $8, settings = $9, deployed_generation = $10, rolled_back = false, deployed_at = now()`,
  ),
  removeVersions: prepared(
    'catalog-remove-versions',
    'delete from drover.application_versions where tenant_id = $1 and application_id = $2 and code_version = any($3)',
  ),
  markRolledBack: prepared(
    'catalog-mark-rolled-back',
    `update drover.application_versions set rolled_back = code_version = any($3)
     where tenant_id = $1 and application_id = $2 and (code_version = any($3) or code_version = any($4))`,
  ),
  addChange: prepared(
    'catalog-add-change',
    `insert into drover.application_changes (tenant_id, application_id, generation, kind, traffic, reason)
     values ($1, $2, $3, $4, $5, $6)`,
  ),
  trimChanges: prepared(
    'catalog-trim-changes',
    `delete from drover.application_changes where tenant_id = $1 and application_id = $2 and generation <
       (select generation from drover.application_changes where tenant_id = $1 and application_id = $2
        order by generation desc offset $3 limit 1)`,
  ),
  markDeleting: prepared(
    'catalog-mark-deleting',
    'update drover.applications set deleting = true, generation = $3 where tenant_id = $1 and application_id = $2',
  ),
  removeApplication: prepared(
    'catalog-remove-application',
    'delete from drover.applications where tenant_id = $1 and application_id = $2 and deleting returning generation',
  ),
};

/** Groups rows of `joined`, which are ordered by application. */
export function toApplications(rows: readonly CatalogRow[], seal: SettingsSeal): CatalogApplication[] {
  const found = new Map<string, CatalogApplication & { readonly versions: CatalogVersion[] }>();
  for (const row of rows) {
    const key = `${row.tenant_id}/${row.application_id}`;
    const application = found.get(key) ?? toApplication(row);
    found.set(key, application);
    if (row.code_version !== null) application.versions.push(toVersion(row, row.code_version, seal));
  }
  return [...found.values()];
}

function toApplication(row: CatalogRow): CatalogApplication & { readonly versions: CatalogVersion[] } {
  return {
    tenantId: row.tenant_id,
    applicationId: row.application_id,
    generation: row.generation,
    versions: [],
    traffic: row.traffic,
    scaling: row.scaling,
    rollback: row.rollback,
    trafficChangedAtMs: row.traffic_changed_at.getTime(),
    isDeleting: row.deleting,
  };
}

function toVersion(row: CatalogRow, codeVersion: string, seal: SettingsSeal): CatalogVersion {
  const owner = { tenantId: row.tenant_id, applicationId: row.application_id, codeVersion };
  let opened: Readonly<Record<string, string>> | undefined;
  return {
    codeVersion,
    source: row.source,
    index: row.function_index,
    settingNames: row.setting_names,
    // On first use: a wrong key then affects only what needs the values.
    revealSettings: () => (opened ??= seal.unseal(owner, row.settings)),
    deployedAtMs: row.deployed_at.getTime(),
    isRolledBack: row.rolled_back,
  };
}

export function toChange({ generation, kind, traffic, reason, changed_at: changedAt }: ChangeRow): CatalogChange {
  return { generation, kind, traffic, reason, atMs: changedAt.getTime() };
}

export function addressValues({ tenantId, applicationId }: ApplicationAddress): readonly [TenantId, string] {
  return [tenantId, applicationId];
}
