import { defineError, runtimeCalls } from '@drover/contracts';

export const workerLost = defineError<{ workerId: string; reason: string }>(runtimeCalls.workerLost, {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The function worker that ran the invocation died or disconnected. Trigger messages return to their source; send other calls again.',
  message: (d) =>
    `Function worker ${d.workerId} was lost while it ran this invocation: ${d.reason}. Send the call again.`,
});

export const invocationTimedOut = defineError<{ functionName: string; timeoutMs: number }>(
  'RUNTIME_INVOCATION_TIMED_OUT',
  {
    fault: 'customer',
    retryable: true,
    status: 504,
    help: 'The function ran longer than its timeout. Make it faster, or raise functionTimeout in host.json.',
    message: (d) =>
      `Function ${d.functionName} did not end within ${d.timeoutMs} ms. Make it faster, or raise functionTimeout in host.json.`,
  },
);

export const invocationFailed = defineError<{ functionName: string; type: string; text: string }>(
  'RUNTIME_INVOCATION_FAILED',
  {
    fault: 'customer',
    retryable: true,
    status: 500,
    help: 'The function threw an error. The log of the invocation has its stack.',
    message: (d) => `Function ${d.functionName} failed${d.type ? ` with ${d.type}` : ''}: ${d.text}`,
  },
);

export const invocationCancelled = defineError<{ functionName: string }>('RUNTIME_INVOCATION_CANCELLED', {
  fault: 'caller',
  retryable: true,
  status: 499,
  help: 'The caller disconnected, or the runtime stopped.',
  message: (d) => `The invocation of ${d.functionName} was cancelled: the caller disconnected, or the runtime stopped.`,
});

export const noWorker = defineError<{ functionName: string; reason?: string | undefined }>('RUNTIME_NO_WORKER', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'No function worker of the application became ready in time. Send the call again shortly.',
  message: (d) =>
    d.reason === undefined
      ? `No function worker for ${d.functionName} became ready in time. Send the call again shortly.`
      : `No function worker for ${d.functionName} is ready: ${d.reason}. Send the call again shortly.`,
});

export const saturated = defineError<{ functionName: string; limit: number }>('RUNTIME_SATURATED', {
  fault: 'platform',
  retryable: true,
  status: 429,
  help: 'More invocations are queued or running than the limit allows. Send the call again later, or run more workers.',
  message: (d) =>
    `Function ${d.functionName} was refused: ${d.limit} invocations are already queued or running. Send the call again later.`,
});

export const rpcPortUnusable = defineError<{ host: string; port: number; reason: string; setting: string }>(
  'RUNTIME_RPC_PORT_UNUSABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `The runtime cannot listen for function workers on ${d.host}:${d.port} (${d.reason}). Free the port, or set ${d.setting} to another one (0 takes any free one).`,
    help: 'The port for function workers is in use, or its address is not of this machine. Free the port, or set DROVER_RPC_PORT (with certificates) or DROVER_RPC_LOOPBACK_PORT to another one; 0 takes any free one.',
  },
);

export const specializationFailed = defineError<{ workerId: string; step: string; text: string }>(
  'RUNTIME_SPECIALIZATION_FAILED',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    help: 'A function worker could not load the application. The message names the step and the reason.',
    message: (d) => `Function worker ${d.workerId} could not load its application (${d.step}): ${d.text}`,
  },
);

export const workerSilent = defineError<{ workerId: string; awaited: string; timeoutMs: number }>(
  'RUNTIME_WORKER_SILENT',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    help: 'A function worker did not respond in time and was abandoned. Another one replaces it.',
    message: (d) =>
      `Function worker ${d.workerId} did not respond to ${d.awaited} within ${d.timeoutMs} ms. It is replaced.`,
  },
);

export const jobHostFailed = defineError<{ jobHost: string; text: string }>('RUNTIME_JOB_HOST_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'A trigger listener of the application failed. The runtime starts it again.',
  message: (d) => `Job host ${d.jobHost} failed: ${d.text}`,
});

export const applicationRemoved = defineError<{ application: string }>('RUNTIME_APPLICATION_REMOVED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The application, or the version that a call was for, was removed while the call waited. Send the call again: it goes to the version that serves now.',
  message: (d) => `Application ${d.application} was removed or replaced while the call waited. Send the call again.`,
});

export const parkRefused = defineError<{ application: string; reason: string }>('RUNTIME_PARK_REFUSED', {
  fault: 'platform',
  retryable: true,
  status: 409,
  help: 'An application can only be parked while it has no function worker and no call. The scale controller tries again.',
  message: (d) => `Application ${d.application} cannot be parked: ${d.reason}. Try again when it is idle.`,
});

export const applicationBroken = defineError<{ applicationId: string; problems: readonly string[] }>(
  'RUNTIME_APPLICATION_BROKEN',
  {
    fault: 'customer',
    retryable: false,
    status: 422,
    help: 'No function of the application can run. Correct the listed problems; each names its file.',
    message: (d) =>
      `Application ${d.applicationId} has no function that can run. Correct these problems:\n  ${d.problems.join('\n  ')}`,
  },
);

export const functionsLost = defineError<{
  applicationId: string;
  problems: readonly string[];
  functions: readonly string[];
}>('RUNTIME_FUNCTIONS_LOST', {
  fault: 'customer',
  retryable: false,
  status: 422,
  help: 'Code of the new version cannot be loaded, so that it lacks functions which run now. The version that runs goes on. Correct the listed problems; each names its file.',
  message: (d) =>
    `The new version of ${d.applicationId} would lose ${d.functions.join(', ')}, because code of it cannot be loaded. Correct these problems:\n  ${d.problems.join('\n  ')}`,
});

interface FailedOutput {
  readonly functionName: string;
  readonly binding: string;
  readonly text: string;
  /** The outputs that were written before. */
  readonly written: readonly string[];
  /** Number of messages of the output, of which some may have been written. */
  readonly messages?: number;
}

/** Tells a caller what a repeated call would write twice. */
function describeOutput({ functionName, binding, text, written, messages = 1 }: FailedOutput): string {
  const reason = text.replace(/[.\s]+$/, '');
  const some = messages > 1 ? ` Some of its ${messages} messages may have been written.` : '';
  const others =
    written.length > 0
      ? `Already written: ${written.map((name) => `"${name}"`).join(', ')}; a repeated call writes them again.`
      : 'No other output was written.';
  return `Function ${functionName} ran, but its output "${binding}" could not be written: ${reason}.${some} ${others}`;
}

export const outputFailed = defineError<FailedOutput>(runtimeCalls.outputFailed, {
  fault: 'customer',
  retryable: true,
  status: 500,
  help: 'The function ran, but the service of one of its outputs did not take it. The message has the reason, and the outputs that were already written: a repeated call writes them again. Check the connection of the output.',
  message: (d) => `${describeOutput(d)} Check the connection of the output.`,
});

export const outputRefused = defineError<FailedOutput>('RUNTIME_OUTPUT_REFUSED', {
  fault: 'customer',
  retryable: false,
  status: 500,
  help: 'The function ran, but one of its outputs has a value or options that cannot be written. The message has the reason, and the outputs that were already written. Correct the function.',
  message: (d) => `${describeOutput(d)} Correct the function or the binding.`,
});

export const functionNotLoaded = defineError<{ functionName: string; reason: string }>('RUNTIME_FUNCTION_NOT_LOADED', {
  fault: 'customer',
  retryable: true,
  status: 500,
  help: 'Every function worker of the application refused to load the function. The message has its reason. Correct the function and deploy it again.',
  message: (d) =>
    `Function ${d.functionName} cannot run, since no function worker could load it: ${d.reason}. Correct the function and deploy it again.`,
});

export const functionRefused = defineError<{ functionName: string; crashes: number; retryAfterMs: number }>(
  'RUNTIME_FUNCTION_CRASHES',
  {
    fault: 'customer',
    retryable: true,
    status: 503,
    help: 'The function ended its function workers again and again, so it is called only every few seconds, in a worker of its own. The log has the reason of each crash.',
    message: (d) =>
      `Function ${d.functionName} ended ${d.crashes} function workers and is not called for a while. Correct the function, or send the call again after the time in Retry-After.`,
  },
);

export const messagePoison = defineError<{ functionName: string; crashes: number }>('RUNTIME_MESSAGE_POISON', {
  fault: 'customer',
  retryable: false,
  status: 500,
  help: 'The same message or execution ended two function workers, so it is not run again. The log has the reason of each crash.',
  message: (d) =>
    `The message ended ${d.crashes} function workers of function ${d.functionName} and is not run again. Correct the function, then send the message again.`,
});

export const workerCommandMissing = defineError<{ applicationId: string }>('RUNTIME_WORKER_COMMAND_MISSING', {
  fault: 'caller',
  retryable: false,
  status: 500,
  help: 'An application is configured, but no command that starts its workers. Set --worker-command or DROVER_WORKER_COMMAND.',
  message: (d) =>
    `No command starts workers for ${d.applicationId}. Set --worker-command "node path/to/worker.js" (DROVER_WORKER_COMMAND).`,
});

export const emulatorsFailed = defineError<{ reason: string }>('RUNTIME_EMULATORS_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The process of the emulators exited during its start, several times in a row. Its log lines have the reason. Start emulators by yourself (`drover emulators`), or set connection strings of real services.',
  message: (d) =>
    `The emulators did not start: ${d.reason}. Start "drover emulators" to see the reason, or set DROVER_EMULATORS=off and connection strings of real services.`,
});

export const runtimeErrors = {
  emulatorsFailed,
  functionNotLoaded,
  functionRefused,
  messagePoison,
  workerCommandMissing,
  outputFailed,
  outputRefused,
  rpcPortUnusable,
  workerLost,
  invocationTimedOut,
  invocationFailed,
  invocationCancelled,
  noWorker,
  saturated,
  specializationFailed,
  workerSilent,
  jobHostFailed,
  applicationBroken,
  functionsLost,
};
