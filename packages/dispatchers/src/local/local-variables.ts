import { integer, milliseconds, oneOf, optionalText } from '@drover/service-kit';

/** What the mode LOCAL is told from outside. */
export const localVariables = {
  handlersDirectory: optionalText('DROVER_HANDLERS_DIR', {
    about: 'The folder with the handler modules of functions in the mode LOCAL; without it there is no such mode.',
  }),
  localDriver: oneOf('DROVER_LOCAL_DRIVER', ['processes', 'threads'], {
    default: 'processes',
    about:
      'What handlers of the mode LOCAL run in. Only processes isolate: a thread shares memory limits and fate with the control plane.',
  }),
  localMaxPools: integer('DROVER_LOCAL_MAX_POOLS', {
    min: 1,
    max: 10_000,
    default: 64,
    about: 'Functions of the mode LOCAL that may have workers at the same time.',
  }),
  localIdleMs: milliseconds('DROVER_LOCAL_IDLE_MS', {
    min: 1_000,
    default: 300_000,
    about: 'How long the workers of a function in the mode LOCAL are kept without a call.',
  }),
};
