import { integer, milliseconds, secret } from '@drover/service-kit';

export const functionVariables = {
  defaultTimeoutMs: milliseconds('DEFAULT_TIMEOUT_MS', {
    min: 1,
    max: 300_000,
    default: 30_000,
    about: 'How long an attempt may take, for functions that are registered without `timeoutMs`.',
  }),
  defaultQueueSize: integer('DEFAULT_QUEUE_SIZE', {
    min: 1,
    max: 1_000_000,
    default: 100,
    about: 'How many calls may wait, for functions that are registered without `queueSize`.',
  }),
  defaultConcurrency: integer('DEFAULT_CONCURRENCY', {
    min: 1,
    max: 100_000,
    default: 4,
    about: 'How many attempts may be under way, for functions that are registered without `concurrency`.',
  }),
  defaultMaxRetries: integer('DEFAULT_MAX_RETRIES', {
    min: 0,
    max: 100,
    default: 3,
    about: 'How often a call is tried again, for functions that are registered without `maxRetries`.',
  }),
  secretsKey: secret('DROVER_SECRETS_KEY', {
    about:
      'What `env` of functions is encrypted with: 32 random bytes as base64 or hex, or any other text of 16 characters and more. The same on every replica; without it functions with `env` are refused.',
  }),
};
