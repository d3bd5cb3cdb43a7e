import type { Attempt } from '../dispatcher.js';
import { jobMarks } from './job-labels.js';
import type { JobRequest } from './job-runner.js';

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

/** Splits a command at its spaces, quotes and backslashes respected; nothing in it is expanded, and no shell sees it. */
export function splitCommand(text: string): { readonly words: readonly string[] } | { readonly problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && quote !== "'" && at + 1 < text.length) {
      at += 1;
      word = (word ?? '') + text.charAt(at);
    } else if (quote === undefined ? char === '"' || char === "'" : char === quote) {
      quote = quote === undefined ? char : undefined;
      word ??= ''; // quotes with nothing between them are a word, too
    } else if (quote === undefined && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) return { problem: `runtimeCommand has a ${quote} that is never closed` };
  if (word !== undefined) words.push(word);
  return words[0] ? { words } : { problem: 'runtimeCommand names no program' };
}
