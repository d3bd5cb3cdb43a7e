import { integer, milliseconds, secret } from '@drover/service-kit';

export const functionVariables = {
  defaultTimeoutMs: milliseconds('DEFAULT_TIMEOUT_MS', {
    min: 1,
    max: 300_000,
    default: 30_000,
    about: 'Time limit of one attempt, for functions registered without `timeoutMs`.',
  }),
  defaultQueueSize: integer('DEFAULT_QUEUE_SIZE', {
    min: 1,
    max: 1_000_000,
    default: 100,
    about: 'Maximum number of waiting calls, for functions registered without `queueSize`.',
  }),
  defaultConcurrency: integer('DEFAULT_CONCURRENCY', {
    min: 1,
    max: 100_000,
    default: 4,
    about: 'Maximum number of concurrent attempts, for functions registered without `concurrency`.',
  }),
  defaultMaxRetries: integer('DEFAULT_MAX_RETRIES', {
    min: 0,
    max: 100,
    default: 3,
    about: 'Maximum number of retries after the first attempt, for functions registered without `maxRetries`.',
  }),
  secretsKey: secret('DROVER_SECRETS_KEY', {
    about:
      'Encrypts `env` of functions and settings of applications: 32 random bytes as base64 or hex, or any other text of at least 16 characters. Must be the same on every replica. Without it, functions with `env` and applications with settings are refused.',
  }),
};
