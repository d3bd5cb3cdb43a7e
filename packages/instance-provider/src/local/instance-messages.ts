import { CodedError, isCodedError, type ErrorTraits } from '@drover/contracts';
import type { InstanceEvent, InstanceProvider } from '../instance-provider.js';

/** The calls of the port that travel, each with its arguments. */
type Calls = Omit<InstanceProvider, 'subscribe'>;
export type InstanceCallName = keyof Calls;

/** From a client. */
export interface InstanceCall {
  readonly type: 'instances.call';
  readonly callId: number;
  readonly call: InstanceCallName;
  readonly args: readonly unknown[];
}

/** To a client. */
export type InstanceReport =
  | { readonly type: 'instances.answer'; readonly callId: number; readonly value?: unknown; readonly error?: SentError }
  | { readonly type: 'instances.event'; readonly event: InstanceEvent };

interface SentError extends ErrorTraits {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const callNames: Readonly<Record<InstanceCallName, true>> = { start: true, end: true, list: true, forget: true };

export function isInstanceCall(message: unknown): message is InstanceCall {
  if (!isRecord(message) || message['type'] !== 'instances.call') return false;
  const { callId, call, args } = message;
  return (
    typeof callId === 'number' && typeof call === 'string' && Object.hasOwn(callNames, call) && Array.isArray(args)
  );
}

export function isInstanceReport(message: unknown): message is InstanceReport {
  if (!isRecord(message)) return false;
  const { type, callId, event } = message;
  return type === 'instances.answer' ? typeof callId === 'number' : type === 'instances.event' && isRecord(event);
}

/** Errors keep their code on the way. */
export function toSentError(error: unknown): SentError {
  if (isCodedError(error)) {
    const { code, message, details, fault, retryable, status } = error;
    return { code, message, details, fault, retryable, status };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'INTERNAL_ERROR', message, details: {}, fault: 'platform', retryable: false, status: 500 };
}

export function fromSentError({ code, message, details, ...traits }: SentError): CodedError {
  return new CodedError(code, traits, message, details);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
