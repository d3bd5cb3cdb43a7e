import { defineError } from '@drover/contracts';

const list = (problems: readonly string[]): string => problems.map((problem) => `\n  - ${problem}`).join('');

export const triggerOptionsInvalid = defineError<{ functionName: string; problems: readonly string[] }>(
  'TRIGGER_OPTIONS_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) => `function ${d.functionName} cannot be triggered as it asks:${list(d.problems)}`,
    help: 'Every problem is listed at once: correct those keys on the binding, or under `extensions` of host.json.',
  },
);

export const triggerConnectionInvalid = defineError<{ functionName: string; setting: string; problem: string }>(
  'TRIGGER_CONNECTION_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) => `function ${d.functionName}: the connection setting ${d.setting} ${d.problem}`,
    help: 'A binding names a setting; that setting has to hold a connection string, or `<name>__queueServiceUri` a URI.',
  },
);

export const triggerCredentialsMissing = defineError<{ functionName: string; setting: string }>(
  'TRIGGER_CREDENTIALS_MISSING',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) =>
      `function ${d.functionName}: ${d.setting} names an account but no key, and this runtime has no Azure identity; ` +
      'append a shared access signature to the URI, or use a connection string',
    help: 'Identity-based connections need a credential: use a connection string, or a URI with a shared access signature.',
  },
);

export const queueMessageUnsendable = defineError<{ queue: string; problem: string }>('QUEUE_MESSAGE_UNSENDABLE', {
  fault: 'customer',
  retryable: false,
  status: 400,
  message: (d) => `a message for queue ${d.queue} ${d.problem}`,
  help: 'Storage queues take 64 KiB of text a message (48 KiB before base64): keep large content elsewhere, and send where it is.',
});

export const queueUnavailable = defineError<{ queue: string; operation: string; reason: string }>('QUEUE_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `cannot ${d.operation} queue ${d.queue}: ${d.reason}`,
  help: 'The storage account does not answer, or refuses: check that it can be reached and that the key is good.',
});

/** For the catalogue of errors. */
export const triggerSourceErrors = {
  triggerOptionsInvalid,
  triggerConnectionInvalid,
  triggerCredentialsMissing,
  queueMessageUnsendable,
  queueUnavailable,
};
