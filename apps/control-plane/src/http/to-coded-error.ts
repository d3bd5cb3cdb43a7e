import { isCodedError, type CodedError, type ErrorBody } from '@drover/contracts';
import { addressTooLong, bodyTooLarge, bodyUnreadable, mediaTypeUnsupported } from '@drover/http-edge';
import type { FastifyError, FastifySchemaValidationError } from 'fastify';
import { requestInvalid } from '../errors.js';

export interface Refusal {
  readonly error: CodedError | undefined;
  readonly details?: ErrorBody['details'] | undefined;
}

export interface RefusedRequest {
  readonly contentType: string;
  readonly bodyLimitBytes: number;
  readonly addressLimitBytes: number;
}

/** How much of a caller's input is repeated in an error. */
const quotedCharacters = 100;

/** Turns an error of the framework into one of ours; undefined for an unexpected error. */
export function toCodedError(error: unknown, request: RefusedRequest): Refusal {
  if (isCodedError(error)) return { error, details: problemsOf(error) };
  if (!isFrameworkError(error)) return { error: undefined };
  if (error.validation) {
    const [first] = error.validation;
    const path = `${error.validationContext ?? 'request'}${first?.instancePath ?? ''}`;
    const message = first ? explain(first, error.validation) : 'is not valid';
    return { error: requestInvalid({ problem: `${path} ${message}` }), details: [{ path, message }] };
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { error: bodyTooLarge({ limitBytes: request.bodyLimitBytes }) };
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { error: mediaTypeUnsupported({ received: quote(request.contentType) || 'without a content type' }) };
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return { error: addressTooLong({ limitBytes: request.addressLimitBytes }) };
    case 'FST_ERR_BAD_URL':
      return { error: bodyUnreadable({ problem: 'the address is not well encoded' }, error) };
    default:
      return {
        error:
          error.statusCode !== undefined && error.statusCode < 500
            ? bodyUnreadable({ problem: error.message }, error)
            : undefined,
      };
  }
}

/** Errors about a document list every problem with its place; a refused change lists what is in its way. */
function problemsOf({ details }: CodedError): ErrorBody['details'] {
  const listed = details['problems'] ?? details['refusals'];
  if (!Array.isArray(listed) || !listed.every(isPlaced)) return undefined;
  return listed.map(({ pointer, path = pointer ?? '', message }) => ({ path, message }));
}

interface PlacedProblem {
  readonly pointer?: string;
  readonly path?: string;
  readonly message: string;
}

function isPlaced(problem: unknown): problem is PlacedProblem {
  if (typeof problem !== 'object' || problem === null) return false;
  return 'message' in problem && ('pointer' in problem || 'path' in problem);
}

/** The validator's sentence, completed with the property that is not allowed, or with the values that are. */
function explain(first: FastifySchemaValidationError, all: readonly FastifySchemaValidationError[]): string {
  const { additionalProperty } = first.params;
  if (typeof additionalProperty === 'string') return `must not have the property "${quote(additionalProperty)}"`;
  const allowed = all
    .filter(({ keyword, instancePath }) => keyword === 'const' && instancePath === first.instancePath)
    .map(({ params }) => String(params['allowedValue']));
  return allowed.length > 0 ? `must be ${allowed.join(' or ')}` : (first.message ?? 'is not valid');
}

function quote(text: string): string {
  return text.length > quotedCharacters ? `${text.slice(0, quotedCharacters)}…` : text;
}

function isFrameworkError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error;
}
