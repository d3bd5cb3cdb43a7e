import Type, { type Static } from 'typebox';
import { isCodedError, type ErrorTraits } from '../errors/define-error.js';

/** Body of every error response. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'Error code, listed in docs/errors.md' }),
    message: Type.String({ description: 'What happened and what to do' }),
    requestId: Type.String({ description: 'Identifies this request in the logs' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: 'Part of the request' }),
          message: Type.String(),
        }),
      ),
    ),
  },
  { $id: 'Error' },
);

export type ErrorBody = Static<typeof ErrorBody>;

/** Returns what a caller may see of an error: the details of platform faults are only logged. */
export function toErrorBody(error: unknown, requestId: string): { readonly status: number; readonly body: ErrorBody } {
  if (!isCodedError(error)) {
    const message = 'An unexpected error occurred. Search the log for this request id.';
    return { status: 500, body: { error: 'INTERNAL_ERROR', message, requestId } };
  }
  const message = error.fault === 'platform' ? platformMessage(error) : error.message;
  return { status: error.status, body: { error: error.code, message, requestId } };
}

/** The message of the error may name addresses and other facts of the platform. The text of docs/errors.md names the thing and the next step. */
function platformMessage({ retryable, advice, help = '' }: ErrorTraits): string {
  const known = help.replaceAll('`', '');
  const what = [known === '' ? 'The platform cannot process this request.' : known, advice].filter(Boolean).join(' ');
  if (!retryable) return `${what} Search the log for this request id.`;
  return /\b(again|retry|retries)\b/i.test(what) ? what : `${what} Try again after a moment.`;
}
