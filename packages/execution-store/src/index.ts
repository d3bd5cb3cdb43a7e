export { executionErrors } from './errors.js';
export type { CallbackMark, CallbackMarks } from './callback-marks.js';
export type {
  ExecutionFilter,
  ExecutionStore,
  FailedAttempt,
  FinishedExecution,
  ExecutionOutcome,
  UnfinishedExecution,
} from './execution-store.js';
export { executionVariables } from './execution-variables.js';
export { MemoryExecutionStore } from './memory/memory-execution-store.js';
export { executionStoreReaders } from './observations.js';
export type { ExecutionStoreObservation } from './observations.js';
export { executionMigrations } from './postgres/execution-migrations.js';
export { PostgresExecutionStore } from './postgres/postgres-execution-store.js';
