import { applicationCatalogMigrations } from '@drover/application-catalog';
import { collectionMigrations } from '@drover/collection-engine';
import { databaseMigrations, type Migrations } from '@drover/database';
import { eventBusMigrations } from '@drover/event-bus';
import { executionMigrations } from '@drover/execution-store';
import { ownershipMigrations } from '@drover/ownership';
import { functionMigrations } from './functions/function-migrations.js';
import { controlPlaneMigrations } from './migrations/control-plane-migrations.js';
import { assignmentMigrations } from './assignments/assignment-migrations.js';
import { webhookMigrations } from './webhooks/webhook-migrations.js';

/** The tables of the control plane, in the order in which they are made. */
export const controlPlaneSchema: readonly Migrations[] = [
  databaseMigrations,
  eventBusMigrations,
  controlPlaneMigrations,
  functionMigrations,
  ownershipMigrations,
  executionMigrations,
  applicationCatalogMigrations,
  collectionMigrations,
  webhookMigrations,
  assignmentMigrations,
];
