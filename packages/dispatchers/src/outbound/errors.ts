import { defineError } from '@drover/contracts';

export const endpointRefused = defineError<{ problem: string }>('ENDPOINT_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'Endpoints and callbacks must be http or https URLs with a public address; whoever runs the platform allows others in `DROVER_ENDPOINT_HOSTS`.',
});

export const endpointErrors = { endpointRefused };
