import { defineError } from '@drover/contracts';

export const workerLost = defineError<{ workerId: string; reason: string }>('RUNTIME_WORKER_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The function worker that ran the invocation died or went away. Its message returns to its source; a caller may try again.',
  message: (d) => `function worker ${d.workerId} was lost while it ran this invocation: ${d.reason}`,
});

export const invocationTimedOut = defineError<{ functionName: string; timeoutMs: number }>(
  'RUNTIME_INVOCATION_TIMED_OUT',
  {
    fault: 'customer',
    retryable: true,
    status: 504,
    help: 'The function took longer than its time limit. Make it quicker, or raise functionTimeout in host.json.',
    message: (d) => `function ${d.functionName} did not end within ${d.timeoutMs} ms`,
  },
);

export const invocationFailed = defineError<{ functionName: string; type: string; text: string }>(
  'RUNTIME_INVOCATION_FAILED',
  {
    fault: 'customer',
    retryable: true,
    status: 500,
    help: 'The function threw. Its own error is in the log of the invocation.',
    message: (d) => `function ${d.functionName} failed${d.type ? ` with ${d.type}` : ''}: ${d.text}`,
  },
);

export const invocationCancelled = defineError<{ functionName: string }>('RUNTIME_INVOCATION_CANCELLED', {
  fault: 'caller',
  retryable: true,
  status: 499,
  help: 'Whoever waited for the invocation went away, or the runtime stops.',
  message: (d) => `the invocation of ${d.functionName} was cancelled`,
});

export const noWorker = defineError<{ functionName: string }>('RUNTIME_NO_WORKER', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'No function worker of the application is ready. One was asked for; try again shortly.',
  message: (d) => `no function worker is ready for ${d.functionName}`,
});

export const saturated = defineError<{ functionName: string; limit: number }>('RUNTIME_SATURATED', {
  fault: 'platform',
  retryable: true,
  status: 429,
  help: 'More invocations wait or run than the runtime takes. Try again later, or give it more workers.',
  message: (d) => `${d.functionName} was not taken: ${d.limit} invocations are already on their way`,
});

export const specializationFailed = defineError<{ workerId: string; step: string; text: string }>(
  'RUNTIME_SPECIALIZATION_FAILED',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    help: 'A function worker could not be given the application. The step and the reason are in the message.',
    message: (d) => `function worker ${d.workerId} could not be specialized (${d.step}): ${d.text}`,
  },
);

export const workerSilent = defineError<{ workerId: string; awaited: string; timeoutMs: number }>(
  'RUNTIME_WORKER_SILENT',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    help: 'A function worker did not answer in time and was given up. Another one takes its place.',
    message: (d) => `function worker ${d.workerId} did not answer ${d.awaited} within ${d.timeoutMs} ms`,
  },
);

export const jobHostFailed = defineError<{ jobHost: string; text: string }>('RUNTIME_JOB_HOST_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The listeners of an application failed and are started again.',
  message: (d) => `the job host ${d.jobHost} failed: ${d.text}`,
});

export const applicationBroken = defineError<{ applicationId: string; problems: readonly string[] }>(
  'RUNTIME_APPLICATION_BROKEN',
  {
    fault: 'customer',
    retryable: false,
    status: 422,
    help: 'No function of the application can run. Every problem is named with its file.',
    message: (d) => `application ${d.applicationId} has no function that can run:\n  ${d.problems.join('\n  ')}`,
  },
);

export const outputFailed = defineError<{ functionName: string; binding: string; text: string }>(
  'RUNTIME_OUTPUT_FAILED',
  {
    fault: 'platform',
    retryable: true,
    status: 502,
    help: 'The function ran, but what it put into an output could not be written. Look at the connection of that binding.',
    message: (d) => `the output ${d.binding} of ${d.functionName} could not be written: ${d.text}`,
  },
);

export const workerCommandMissing = defineError<{ applicationId: string }>('RUNTIME_WORKER_COMMAND_MISSING', {
  fault: 'caller',
  retryable: false,
  status: 500,
  help: 'The runtime was given an application, but not how to start a worker for it. Set --worker-command or DROVER_WORKER_COMMAND.',
  message: (d) =>
    `nobody said how to start a worker for ${d.applicationId}; give --worker-command "node path/to/worker.js" (DROVER_WORKER_COMMAND)`,
});

export const runtimeErrors = {
  workerCommandMissing,
  outputFailed,
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
};
