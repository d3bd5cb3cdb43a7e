import { defineError } from '@drover/contracts';

export const encryptedFieldNeedsKey = defineError<{ field: string }>('ENCRYPTED_FIELD_NEEDS_KEY', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) =>
    `Field "${d.field}" is encrypted, but this process has no key. Set DROVER_SECRETS_KEY to the key of the platform.`,
  help: 'Set `DROVER_SECRETS_KEY` of the collection worker to the key that the other processes have, and restart it.',
});

export const encryptedFieldUnreadable = defineError<{ column: string; reason: string }>('ENCRYPTED_FIELD_UNREADABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) =>
    `The encrypted value in column "${d.column}" cannot be decrypted: ${d.reason}. Set DROVER_SECRETS_KEY to the key that encrypted it.`,
  help: 'Set `DROVER_SECRETS_KEY` to the key that was in use when the record was written.',
});

export const valueErrors = [encryptedFieldNeedsKey, encryptedFieldUnreadable];
