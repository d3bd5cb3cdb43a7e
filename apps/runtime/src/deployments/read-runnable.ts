import type { Observe } from '@drover/service-kit';
import { readApplication, type Application } from '../applications/read-application.js';
import { applicationBroken } from '../errors.js';
import type { ApplicationObservation } from './application-observations.js';

interface ApplicationFiles {
  readonly directory: string;
  readonly applicationId: string;
  /** Takes precedence over local.settings.json. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Reads the configuration files of an application. Throws RUNTIME_APPLICATION_BROKEN if one has errors; warnings are observed. */
export async function readRunnable(
  { directory, applicationId, environment }: ApplicationFiles,
  {
    hasDevelopmentStorage,
    observe,
  }: { readonly hasDevelopmentStorage: boolean; readonly observe: Observe<ApplicationObservation> },
): Promise<Application> {
  const application = await readApplication(directory, environment, { hasDevelopmentStorage });
  for (const { severity, file, problem } of application.problems)
    if (severity === 'warning')
      observe({ kind: 'application.warning', application: applicationId, problem: `${file}: ${problem}` });
  const errors = application.problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0)
    throw applicationBroken({ applicationId, problems: errors.map(({ file, problem }) => `${file}: ${problem}`) });
  return application;
}
