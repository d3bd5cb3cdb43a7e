export { lockInTransaction } from './connection/advisory-lock.js';
export type { ConnectionSettings, SessionLimits } from './connection/connection-settings.js';
export type { DatabaseIo } from './connection/database-io.js';
export { DatabaseProbe } from './connection/database-probe.js';
export { Database } from './connection/database.js';
export type { CallerDatabase, DatabaseOptions, Isolation, Transaction } from './connection/database.js';
export { DedicatedConnection, dedicatedConnectionStates } from './connection/dedicated-connection.js';
export { Notifications } from './connection/notifications.js';
export type { NotificationHandler } from './connection/notifications.js';
export { prepared } from './connection/statement.js';
export type { Queryable, Row, Statement } from './connection/statement.js';
export { isPoolExhausted, isRefusedByServer, isUniqueViolation } from './connection/translate-error.js';
export { databaseUrlVariable, databaseVariables } from './database-variables.js';
export { databaseErrors } from './errors.js';
export { GroupCommit } from './group-commit/group-commit.js';
export type { GroupCommitBacklog, GroupCommitOptions } from './group-commit/group-commit.js';
export { databaseMigrations } from './migrations/database-migrations.js';
export { awaitSchema } from './migrations/await-schema.js';
export { migrate, schemaVersions } from './migrations/migrate.js';
export type { Migrations } from './migrations/migrate.js';
export { databaseReaders } from './observations.js';
export type { DatabaseObservation } from './observations.js';
export {
  chooseServerUser,
  EmbeddedPostgres,
  embeddedPostgresErrors,
  embeddedPostgresReaders,
  embeddedPostgresStates,
  findBinaries,
  isRoot,
  readUsers,
} from './embedded/index.js';
export type { EmbeddedPostgresObservation, EmbeddedPostgresOptions, ServerUser } from './embedded/index.js';
