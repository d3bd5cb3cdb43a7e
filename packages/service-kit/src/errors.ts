import { defineError } from '@drover/contracts';

export const configurationInvalid = defineError<{ process: string; problems: readonly string[] }>(
  'CONFIGURATION_INVALID',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: ({ process, problems }) => {
      const [count, them] = problems.length === 1 ? ['1 problem', 'it'] : [`${problems.length} problems`, 'them'];
      const list = problems.map((problem) => `  - ${problem}`).join('\n');
      return `The configuration of ${process} has ${count}. Correct ${them} and start again (docs/configuration.md):\n${list}`;
    },
    help: 'Environment variables have invalid values. The message lists every problem: correct them (docs/configuration.md) and start again.',
  },
);

export const kitErrors = { configurationInvalid };
