import { defineError } from '@drover/contracts';

// The operator has to act, but only the caller sees the refusal: so the message names the missing setting.
export const callbackSecretNeedsKey = defineError('CALLBACK_SECRET_NEEDS_KEY', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: () =>
    'The secret of callbacks is stored encrypted, but no encryption key is configured. Set DROVER_SECRETS_KEY and restart.',
  help: 'Set `DROVER_SECRETS_KEY` on every replica of the control plane.',
});

export const callbackSecretNotFound = defineError<{ secretId: string }>('CALLBACK_SECRET_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `Your tenant has no callback secret ${d.secretId}. List the secrets with GET /v1/callback-secrets.`,
  help: 'List the secrets with `GET /v1/callback-secrets`.',
});

export const callbackErrors = { callbackSecretNeedsKey, callbackSecretNotFound };
