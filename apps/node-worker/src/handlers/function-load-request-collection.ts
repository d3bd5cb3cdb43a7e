import type { MessageHandler } from '../stream/host-stream.js';
import { loadFunction, type FunctionLoadParts } from './function-load-request.js';

/** Loads many functions and answers once for all. One after the other: scripts of one app share what they load. */
export function functionLoadRequestCollection(
  parts: FunctionLoadParts,
): MessageHandler<'functionLoadRequestCollection'> {
  return ({ requestId, value: { functionLoadRequests } }, stream) => {
    const answer = async (): Promise<void> => {
      const functionLoadResponses = [];
      for (const request of functionLoadRequests) functionLoadResponses.push(await loadFunction(parts, request));
      stream.send({ kind: 'functionLoadResponseCollection', requestId, value: { functionLoadResponses } });
    };
    void answer();
  };
}
