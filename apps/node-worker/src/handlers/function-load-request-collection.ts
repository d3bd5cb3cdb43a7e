import type { MessageHandler } from './dispatch.js';
import { loadFunction, type FunctionLoadParts } from './function-load-request.js';

/** Loads several functions and responds once. Sequentially, because scripts of one app share modules. */
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
