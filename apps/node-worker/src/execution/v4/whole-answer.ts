import { wholeAnswerHeader } from '@drover/function-rpc';

/**
 * Marks a streamed response whose body is text, bytes or JSON, so that the host writes the outputs of the function before it.
 * Returns any other result as it is: its body may be a stream.
 */
export function markWholeAnswer(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || Object.getPrototypeOf(result) !== Object.prototype)
    return result;
  const { body, jsonBody, headers: given } = result as Record<string, unknown>;
  if (!isWhole(body) && (jsonBody === undefined || jsonBody === null)) return result;
  const headers = new Headers((given ?? {}) as Record<string, string>); // throws for invalid headers, as the library does
  headers.set(wholeAnswerHeader, 'true');
  return { ...result, headers };
}

function isWhole(body: unknown): boolean {
  return body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array;
}
