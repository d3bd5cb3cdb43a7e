import { defineError } from '@drover/contracts';

export const configurationInvalid = defineError<{ process: string; problems: readonly string[] }>(
  'CONFIGURATION_INVALID',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) =>
      `the configuration of ${d.process} has ${d.problems.length} problem${d.problems.length === 1 ? '' : 's'}:\n` +
      d.problems.map((problem) => `  - ${problem}`).join('\n'),
    help: 'Every problem is listed at once: correct those variables (docs/configuration.md) and start again.',
  },
);

export const kitErrors = { configurationInvalid };
