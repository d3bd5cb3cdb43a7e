import {
  databaseReaders,
  embeddedPostgresReaders,
  type DatabaseObservation,
  type EmbeddedPostgresObservation,
} from '@drover/database';
import { supervisedProcessReaders, type Readers, type SupervisedProcessObservation } from '@drover/service-kit';

export type UpObservation =
  | EmbeddedPostgresObservation
  | Extract<DatabaseObservation, { readonly kind: 'database.awaited' }>
  | SupervisedProcessObservation
  | { readonly kind: 'up.emulators-failed'; readonly reason: string };

export const upReaders: Readers<UpObservation> = {
  ...embeddedPostgresReaders,
  'database.awaited': databaseReaders['database.awaited'],
  ...supervisedProcessReaders,
  'up.emulators-failed': { level: 'error', say: ({ reason }) => reason },
};
