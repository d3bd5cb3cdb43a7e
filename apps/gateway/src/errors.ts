import { defineError } from '@drover/contracts';

export const runtimeUnreachable = defineError<{ reason: string }>('GATEWAY_RUNTIME_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The runtime that serves functions cannot be reached just now; it is started again by itself. Try again shortly.',
  message: (d) => `functions cannot be reached: ${d.reason}`,
});

export const runtimeBroke = defineError<{ reason: string }>('GATEWAY_RUNTIME_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  help: 'The runtime went away while it ran the request. Whether the function ran to its end is not known.',
  message: (d) => `the runtime broke off: ${d.reason}`,
});

export const noFunctions = defineError('GATEWAY_NO_FUNCTIONS', {
  fault: 'caller',
  retryable: false,
  status: 404,
  help: 'Nothing serves functions here. Start with `drover up --app <directory>`.',
  message: () => 'no application is deployed here; start with: drover up --app <directory>',
});

export const gatewayErrors = { runtimeUnreachable, runtimeBroke, noFunctions };
