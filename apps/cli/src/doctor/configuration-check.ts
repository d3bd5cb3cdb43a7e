import { hasCode, isCodedError } from '@drover/contracts';
import { nearestName, processVariables, type Environment } from '@drover/service-kit';
import { parseUpConfig, upVariables, type UpConfig } from '../up/config.js';
import { bad, good, warning, type Finding } from './finding.js';

/** Variables of client commands, which no process reads. */
const clientVariables = ['DROVER_URL', 'DROVER_API_KEY'];

/** Parses the configuration as `drover up` does, and reports unknown variables that start with `DROVER_`. */
export function checkConfiguration(environment: Environment): {
  readonly config: UpConfig | undefined;
  readonly findings: Finding[];
} {
  const unknown = unknownVariables(environment);
  const findings = unknown.map(({ name, meant }) =>
    warning(
      'configuration',
      `The variable ${name} is unknown and has no effect.`,
      meant === undefined ? 'Remove it, or look up its name in docs/configuration.md.' : `Did you mean ${meant}?`,
    ),
  );
  try {
    const config = parseUpConfig(environment);
    return { config, findings: [good('configuration', 'all variables are valid'), ...findings] };
  } catch (error) {
    if (!isCodedError(error) || !hasCode(error, 'CONFIGURATION_INVALID')) throw error;
    const problems = error.details['problems'] as readonly string[]; // the definition's own detail
    return {
      config: undefined,
      findings: [
        ...problems.map((problem) =>
          bad(
            'configuration',
            `${problem}.`,
            'Correct the variable (docs/configuration.md) and run "drover doctor" again.',
          ),
        ),
        ...findings,
      ],
    };
  }
}

/** Returns the variables that start with `DROVER_` but do not exist, with the most similar name that does. */
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
