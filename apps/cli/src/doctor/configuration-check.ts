import { hasCode, isCodedError } from '@drover/contracts';
import { nearestName, processVariables, type Environment } from '@drover/service-kit';
import { parseUpConfig, upVariables, type UpConfig } from '../up/config.js';
import { bad, good, warning, type Finding } from './finding.js';

/** Variables of ours that belong to commands rather than to processes. */
const clientVariables = ['DROVER_URL', 'DROVER_API_KEY'];

/** Reads the configuration as `drover up` will; also looks for variables that look like ours and are not. */
export function checkConfiguration(environment: Environment): {
  readonly config: UpConfig | undefined;
  readonly findings: Finding[];
} {
  const unknown = unknownVariables(environment);
  const findings = unknown.map(({ name, meant }) =>
    warning(
      'configuration',
      `${name} means nothing to Drover`,
      meant === undefined ? 'remove it' : `did you mean ${meant}?`,
    ),
  );
  try {
    const config = parseUpConfig(environment);
    return { config, findings: [good('configuration', 'every variable can be read'), ...findings] };
  } catch (error) {
    if (!isCodedError(error) || !hasCode(error, 'CONFIGURATION_INVALID')) throw error;
    const problems = error.details['problems'] as readonly string[]; // the definition's own detail
    return {
      config: undefined,
      findings: [
        ...problems.map((problem) => bad('configuration', problem, 'correct it (docs/configuration.md)')),
        ...findings,
      ],
    };
  }
}

/** Names that start like ours but are none, with the nearest one that is. */
export function unknownVariables(
  environment: Environment,
): { readonly name: string; readonly meant: string | undefined }[] {
  const known = new Set([
    ...Object.values({ ...upVariables, ...processVariables }).flatMap(({ name }) => [name, `${name}_FILE`]),
    ...clientVariables,
  ]);
  return Object.keys(environment)
    .filter((name) => name.startsWith('DROVER_') && !name.startsWith('DROVER_TEST_') && !known.has(name))
    .map((name) => ({ name, meant: nearestName(name, [...known]) }));
}
