import type { CatalogApplication, CatalogChange, CatalogVersion } from '@drover/application-catalog';
import type { ApplicationChangeView, ApplicationVersionView, ApplicationView } from '@drover/contracts';

/** An application as the API shows it: without the values of settings. */
export function toApplicationView(application: CatalogApplication): ApplicationView {
  const { applicationId, generation, versions, traffic, scaling, rollback, isDeleting } = application;
  return {
    name: applicationId,
    state: isDeleting ? 'deleting' : 'active',
    generation,
    versions: versions.map((version) => toVersionView(application, version)),
    traffic: { ...traffic },
    scaling,
    rollback,
  };
}

export function toVersionView({ traffic }: CatalogApplication, version: CatalogVersion): ApplicationVersionView {
  const { codeVersion, source, index, settingNames, deployedAtMs, isRolledBack } = version;
  return {
    version: codeVersion,
    metadataVersion: index.metadataVersion,
    trafficPercent: traffic[codeVersion] ?? 0,
    source,
    functions: index.functions.map(({ name, triggerType, isDisabled }) => ({ name, trigger: triggerType, isDisabled })),
    problems: index.problems.map(({ functionName, problem }) => ({ functionName, problem })),
    settingNames: [...settingNames],
    deployedAt: new Date(deployedAtMs).toISOString(),
    isRolledBack,
  };
}

export function toChangeView({ generation, atMs, kind, traffic, reason }: CatalogChange): ApplicationChangeView {
  return { generation, at: new Date(atMs).toISOString(), kind, traffic: { ...traffic }, reason };
}
