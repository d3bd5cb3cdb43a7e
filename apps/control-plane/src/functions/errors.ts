import { defineError } from '@drover/contracts';

export const functionExists = defineError<{ name: string }>('FUNCTION_EXISTS', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The function ${d.name} is already registered. Change it with PATCH or PUT, which keep its queue, or DELETE it before you register it again.`,
  help: 'The name is taken: change the function with PATCH or PUT, or remove it and register it again.',
});

export const functionOfApplication = defineError<{ name: string; application: string }>('FUNCTION_OF_APPLICATION', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The function ${d.name} belongs to the application ${d.application}. Change it there and deploy again, or register a function of the same name, which takes precedence.`,
  help: 'Functions of a deployed application change only with a deployment of that application.',
});

export const queueNotEmpty = defineError<{ name: string; calls: number }>('FUNCTION_QUEUE_NOT_EMPTY', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The function ${d.name} was not removed: ${d.calls} calls wait in its queue. Repeat the request with ?queue=drain to run them first, or with ?queue=purge to cancel them.`,
  help: 'Calls wait in the queue of the function. Say what becomes of them: `DELETE …?queue=drain` runs them and then removes the function, `?queue=purge` cancels them.',
});

export const functionNotManaged = defineError<{ name: string; mode: string }>('FUNCTION_NOT_MANAGED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `The function ${d.name} runs in mode ${d.mode}, which has no replicas to read or set. Limit it with "concurrency".`,
  help: 'Only managed functions have replicas. Limit other functions with `concurrency`.',
});

// The operator has to act, but only the caller sees the refusal: so the message names the missing setting.
export const envNeedsKey = defineError<{ name: string }>('FUNCTION_ENV_NEEDS_KEY', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `The function ${d.name} has "env", which is stored encrypted, but no encryption key is configured. Set DROVER_SECRETS_KEY and restart, or register the function without "env".`,
  help: 'Set `DROVER_SECRETS_KEY` on every replica of the control plane, or register the function without `env`.',
});

export const envUnreadable = defineError<{ tenantId: string; name: string; reason: string }>(
  'FUNCTION_ENV_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `The variables of function ${d.name} of tenant ${d.tenantId} cannot be decrypted: ${d.reason}. Restore the key, or register the function again.`,
    help: 'Give every replica the `DROVER_SECRETS_KEY` that the function was registered with, or remove the function and register it again.',
  },
);

export const secretsKeyTooShort = defineError<{ leastCharacters: number }>('SECRETS_KEY_TOO_SHORT', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `DROVER_SECRETS_KEY has fewer than ${d.leastCharacters} characters. Create a key with "openssl rand -base64 32".`,
  help: 'A short key can be guessed: use 32 random bytes, as base64 or hex.',
});

export const functionErrors = {
  functionExists,
  functionOfApplication,
  queueNotEmpty,
  functionNotManaged,
  envNeedsKey,
  envUnreadable,
  secretsKeyTooShort,
};
