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
  | { readonly kind: 'up.worker-missing'; readonly role: string; readonly reason: string }
  | { readonly kind: 'up.emulators-failed'; readonly reason: string };

export const upReaders: Readers<UpObservation> = {
  ...embeddedPostgresReaders,
  'database.awaited': databaseReaders['database.awaited'],
  ...supervisedProcessReaders,
  'up.worker-missing': {
    level: 'error',
    say: (o) => `${o.role} does not start, the other collection workers serve on without it: ${o.reason}`,
  },
  'up.emulators-failed': { level: 'error', say: ({ reason }) => reason },
};
