import { defineError } from '@drover/contracts';

export const authenticationRequired = defineError('AUTHENTICATION_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () =>
    'The request has no valid API key. Send "Authorization: Bearer drv_…"; "drover up" writes a key to credentials.json.',
  help: 'The key is missing, unknown, expired or revoked. Use the key in `credentials.json`, or create one with `drover keys create`.',
});

export const accessDenied = defineError<{ scope: string }>('ACCESS_DENIED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `The API key lacks the scope ${d.scope}. Use a key that has it.`,
  help: 'The key is valid but not allowed to do this. Use a key with the scope that the message names.',
});

export const apiKeyNotFound = defineError<{ keyId: string }>('API_KEY_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The API key ${d.keyId} does not exist in your tenant. List the keys with "drover keys list".`,
  help: 'List the keys with `drover keys list`.',
});

/** The errors of the catalogue that are about API keys. */
export const accessErrors = { authenticationRequired, accessDenied, apiKeyNotFound };
