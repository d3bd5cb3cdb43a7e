import { defineError } from '@drover/contracts';

export const functionExists = defineError<{ name: string }>('FUNCTION_EXISTS', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `your tenant has a function ${d.name} already; PATCH it to change its limits, or DELETE it first to register another`,
  help: 'The name is taken: change the function with PATCH, or remove it and register it again.',
});

export const functionOfApplication = defineError<{ name: string; application: string }>('FUNCTION_OF_APPLICATION', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `${d.name} is part of the application ${d.application}; change or remove it there and deploy, or register a function of the same name, which goes before it`,
  help: 'Functions of deployed applications change with their application only.',
});

export const functionNotManaged = defineError<{ name: string; mode: string }>('FUNCTION_NOT_MANAGED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `${d.name} runs in the mode ${d.mode}, which has no replicas that could be counted or set; its limit is "concurrency"`,
  help: 'Only managed functions have replicas: bound the others with `concurrency`.',
});

// Whoever runs the platform has to act; the caller is told all the same, or nobody would know what is missing.
export const envNeedsKey = defineError<{ name: string }>('FUNCTION_ENV_NEEDS_KEY', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `${d.name} has "env", which is only kept encrypted, and this platform has no key for that; set DROVER_SECRETS_KEY and start it again, or leave "env" out`,
  help: 'Set `DROVER_SECRETS_KEY` on every replica of the control plane, or register the function without `env`.',
});

export const envUnreadable = defineError<{ tenantId: string; name: string; reason: string }>(
  'FUNCTION_ENV_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) => `the variables of function ${d.name} of tenant ${d.tenantId} cannot be opened: ${d.reason}`,
    help: 'Give every replica the `DROVER_SECRETS_KEY` that the function was registered with, or remove the function and register it again.',
  },
);

export const secretsKeyTooShort = defineError<{ leastCharacters: number }>('SECRETS_KEY_TOO_SHORT', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `DROVER_SECRETS_KEY has fewer than ${d.leastCharacters} characters; make one with "openssl rand -base64 32"`,
  help: 'A short key can be guessed: use 32 random bytes, as base64 or hex.',
});

export const functionErrors = {
  functionExists,
  functionOfApplication,
  functionNotManaged,
  envNeedsKey,
  envUnreadable,
  secretsKeyTooShort,
};
