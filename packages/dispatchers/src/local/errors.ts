import { defineError } from '@drover/contracts';

export const localUnavailableError = defineError<{ problem: string }>('LOCAL_UNAVAILABLE', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) => d.problem,
  help: 'The handler module of a LOCAL function cannot be run: see that it lies in the folder that `DROVER_HANDLERS_DIR` names and exports a function.',
});

export const localErrors = { localUnavailableError };
