import { isCodedError, toErrorBody } from '@drover/contracts';
import { mostProblems, type RecordProblem } from '../model/record-problem.js';

type RequestSource = RecordProblem['source'];

/** One entry of a JSON:API error document. */
export interface ErrorEntry {
  readonly status: string;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly source?: RequestSource;
  readonly meta: { readonly requestId: string };
}

/** What an error carries beside its message: the place in the request that it is about, or several problems. */
interface ErrorDetails {
  readonly source?: RequestSource;
  readonly problems?: readonly RecordProblem[];
}

/**
 * Turns an error into the JSON:API document that `/api` answers with. An error with `details.problems` becomes one entry per
 * problem, `mostProblems` at most. Platform faults and unexpected errors say nothing about their cause.
 */
export function toErrorDocument(
  error: unknown,
  requestId: string,
): { readonly status: number; readonly errors: readonly ErrorEntry[] } {
  const { status, body } = toErrorBody(error, requestId);
  const entry = (code: string, detail: string, source: RequestSource | undefined): ErrorEntry => ({
    status: String(status),
    code,
    title: titleOf(code),
    detail,
    ...(source && { source }),
    meta: { requestId },
  });
  const { problems, source }: ErrorDetails = isCodedError(error) ? error.details : {};
  if (problems && problems.length > 0)
    return {
      status,
      errors: problems.slice(0, mostProblems).map(({ code, detail, source: at }) => entry(code, detail, at)),
    };
  return { status, errors: [entry(body.error, body.message, source)] };
}

/** `COLLECTION_UNKNOWN` and `maxLength` become "Collection unknown" and "Max length". */
function titleOf(code: string): string {
  const words =
    code.includes('_') || code === code.toUpperCase() ? code : code.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2');
  const text = words.toLowerCase().replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
