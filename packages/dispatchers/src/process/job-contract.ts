import type { Attempt } from '../dispatcher.js';
import { jobMetadata } from './job-labels.js';
import type { JobRequest } from './job-runner.js';

/** Returns everything a job needs, wherever it runs; `problem` says what the registration lacks. */
export function jobRequest(attempt: Attempt): JobRequest | { readonly problem: string } {
  const { definition, accepted, number, timeoutMs } = attempt;
  const command = commandOf(definition.spec);
  if ('problem' in command) return command;
  const { executionId, traceId, traceparent, idempotencyKey } = accepted;
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
      ...(idempotencyKey !== undefined && { IDEMPOTENCY_KEY: idempotencyKey }),
      ...(traceId !== undefined && { TRACE_ID: traceId }),
      ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
    },
    payload: payloadOf(attempt),
    ...jobMetadata(accepted, number),
    timeoutMs,
  };
}

/** `command` of the function, or `runtimeCommand`, which the watchdog of an image would run otherwise. */
export function commandOf({
  command,
  runtimeCommand,
}: Attempt['definition']['spec']): { readonly words: readonly string[] } | { readonly problem: string } {
  if (command && command.length > 0 && command[0] !== '') return { words: command };
  if (runtimeCommand !== undefined && runtimeCommand.trim() !== '') return splitCommand(runtimeCommand);
  return { problem: 'the function has no program to start: register it with "command" or "runtimeCommand"' };
}

/** Concatenates JSON that was validated before. */
function payloadOf({ accepted: { payload, metadata = {} } }: Attempt): string {
  const encoding = payload.encoding === undefined ? '' : `,"encoding":"${payload.encoding}"`;
  return `{"input":${payload.json},"metadata":${JSON.stringify(metadata)}${encoding}}`;
}

/** Splits a command at its spaces; quotes and backslashes escape. Nothing is expanded, and no shell is involved. */
function splitCommand(text: string): { readonly words: readonly string[] } | { readonly problem: string } {
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
      word ??= ''; // empty quotes are a word
    } else if (quote === undefined && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) return { problem: `runtimeCommand has a ${quote} that is not closed` };
  if (word !== undefined) words.push(word);
  return words[0] ? { words } : { problem: 'runtimeCommand names no program' };
}
