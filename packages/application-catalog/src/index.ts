export type { ScaleSettings } from '@drover/contracts';
export type {
  ApplicationAddress,
  ApplicationCatalog,
  CatalogApplication,
  CatalogChange,
  CatalogPayload,
  CatalogVersion,
  NewDeployment,
  NewRollback,
  PayloadSource,
  Traffic,
} from './application-catalog.js';
export { CatalogMirror } from './catalog-mirror.js';
export type { CatalogListener } from './catalog-mirror.js';
export { applicationCatalogErrors } from './errors.js';
export { catalogReaders } from './observations.js';
export type { CatalogObservation } from './observations.js';
export { packFolder } from './payloads/pack-folder.js';
export { PayloadStore } from './payloads/payload-store.js';
export type { PayloadStoreOptions, ReceivedPayload } from './payloads/payload-store.js';
export type { PayloadLimits } from './payloads/unpack-zip.js';
export { applicationCatalogMigrations } from './postgres/catalog-migrations.js';
export { PostgresApplicationCatalog } from './postgres/postgres-application-catalog.js';
export type { AdmitFunctions, PostgresApplicationCatalogOptions } from './postgres/postgres-application-catalog.js';
export type { VersionSample } from './rollback/call-history.js';
export { RollbackWatch } from './rollback/rollback-watch.js';
export type { RollbackWatchOptions } from './rollback/rollback-watch.js';
export { SettingsSeal } from './settings-seal.js';
