import type { CatalogApplication, CatalogChange } from '../application-catalog.js';
import type { PlannedApplication } from './traffic-plans.js';

/** Reduces an application to what decides about its traffic; one that does not exist yet has no versions. */
export function toPlanned(
  applicationId: string,
  application: CatalogApplication | undefined,
  changes: readonly CatalogChange[],
): PlannedApplication {
  return {
    applicationId,
    versions: (application?.versions ?? []).map(({ codeVersion, index, source, isRolledBack }) => ({
      codeVersion,
      metadataVersion: index.metadataVersion,
      source,
      isRolledBack,
    })),
    traffic: application?.traffic ?? {},
    history: changes.map(({ traffic }) => traffic),
  };
}
