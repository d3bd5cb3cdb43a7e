import { isCodedError, type CodedError, type ErrorBody } from '@drover/contracts';
import type { FastifyError } from 'fastify';
import { bodyTooLarge, bodyUnreadable, mediaTypeUnsupported, requestInvalid, shuttingDown } from '../errors.js';

export interface Refusal {
  readonly error: CodedError | undefined;
  readonly details?: ErrorBody['details'];
}

/** The framework's errors in our words; nothing for what nobody expected. */
export function toCodedError(error: unknown, request: { contentType: string; bodyLimitBytes: number }): Refusal {
  if (isCodedError(error)) return { error };
  if (!isFrameworkError(error)) return { error: undefined };
  if (error.validation) {
    const [first] = error.validation;
    const path = `${error.validationContext ?? 'request'}${first?.instancePath ?? ''}`;
    const message = first?.message ?? 'is not valid';
    return { error: requestInvalid({ problem: `${path} ${message}` }), details: [{ path, message }] };
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { error: bodyTooLarge({ limitBytes: request.bodyLimitBytes }) };
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { error: mediaTypeUnsupported({ received: request.contentType || 'of no type' }) };
    case 'FST_ERR_REOPENED_CLOSE_SERVER':
      return { error: shuttingDown({}) };
    default:
      return {
        error:
          error.statusCode !== undefined && error.statusCode < 500
            ? bodyUnreadable({ problem: error.message }, error)
            : undefined,
      };
  }
}

function isFrameworkError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error;
}
