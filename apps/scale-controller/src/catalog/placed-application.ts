import type { CatalogApplication, CatalogVersion } from '@drover/application-catalog';
import type { TenantId } from '@drover/contracts';
import { programOptionsOf } from '@drover/instance-provider';
import type { HostedVersion } from '@drover/scale-link';
import type { PlacedApplication } from '../placement/placement-types.js';

/** Returns the folder of a payload on this machine. */
export type PayloadDirectory = (tenantId: TenantId, digest: string) => string;

/** Makes an application of the catalog ready for its runtime. Throws if the settings of a version cannot be decrypted. */
export function toPlacedApplication(
  application: CatalogApplication,
  maxWorkers: number,
  directoryOf: PayloadDirectory,
): PlacedApplication {
  const { tenantId, applicationId, generation, traffic, isDeleting } = application;
  const versions = application.versions.map((version) => toHostedVersion(application, version, directoryOf));
  return {
    application: `${tenantId}/${applicationId}`,
    tenantId,
    hosted: { tenantId, applicationId, generation, versions, traffic },
    maxWorkers,
    isDeleting,
    programOptions: Object.fromEntries(
      versions.flatMap(({ codeVersion, settings, index }) => {
        const options = [...(index.programOptions ?? []), ...programOptionsOf(settings)];
        return options.length > 0 ? [[codeVersion, options]] : [];
      }),
    ),
  };
}

function toHostedVersion(
  { tenantId, applicationId }: CatalogApplication,
  { codeVersion, source, index, revealSettings }: CatalogVersion,
  directoryOf: PayloadDirectory,
): HostedVersion {
  const directory = source.kind === 'folder' ? source.directory : directoryOf(tenantId, source.digest);
  return { tenantId, applicationId, codeVersion, directory, settings: revealSettings(), index };
}
