import type { Attempt } from '../dispatcher.js';
import { jobMarks } from './job-labels.js';
import type { JobRequest } from './job-runner.js';
import { splitCommand } from './split-command.js';

/** What a job is told, wherever it runs; `problem` says what the registration lacks. */
export function jobRequest(attempt: Attempt): JobRequest | { readonly problem: string } {
  const { definition, accepted, number, timeoutMs } = attempt;
  const command = commandOf(definition.spec);
  if ('problem' in command) return command;
  const { executionId, traceId, traceparent } = accepted;
  const { runtimeMode = 'STDIO', runtimeCommand } = definition.spec;
  return {
    definition,
    executionId,
    attempt: number,
    command: command.words,
    variables: {
      FUNCTION_NAME: definition.name,
      EXECUTION_ID: executionId,
      CALLBACK_URL: attempt.callbackBaseUrl(),
      TIMEOUT_MS: String(Math.max(1, Math.round(timeoutMs))),
      EXECUTION_MODE: runtimeMode,
      DISPATCH_ATTEMPT: String(number),
      ...(runtimeCommand !== undefined && { WATCHDOG_CMD: runtimeCommand }),
      ...(traceId !== undefined && { TRACE_ID: traceId }),
      ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
    },
    payload: payloadOf(attempt),
    ...jobMarks(accepted, number),
    timeoutMs,
  };
}

/** The command of the function, or the one meant for a watchdog where there is no image that would bring one. */
export function commandOf({
  command,
  runtimeCommand,
}: Attempt['definition']['spec']): { readonly words: readonly string[] } | { readonly problem: string } {
  if (command && command.length > 0 && command[0] !== '') return { words: command };
  if (runtimeCommand !== undefined && runtimeCommand.trim() !== '') return splitCommand(runtimeCommand);
  return { problem: 'there is nothing to start: register the function with "command" or "runtimeCommand"' };
}

/** Put together from JSON that was checked before. */
function payloadOf({ accepted: { payload, metadata = {} } }: Attempt): string {
  const encoding = payload.encoding === undefined ? '' : `,"encoding":"${payload.encoding}"`;
  return `{"input":${payload.json},"metadata":${JSON.stringify(metadata)}${encoding}}`;
}
