import { serveRequests } from '../../harness/program.js';
import { json, listenHttp, readBody } from './serve-http.js';

/** The floor under every call: node:http that reads, parses and answers. */
serveRequests<Record<string, never>>(() => {
  let calls = 0;
  return listenHttp((request, response) => {
    readBody(request, (body) => {
      const { input } = JSON.parse(body.toString()) as { readonly input: unknown }; // our own generator's
      calls += 1;
      const envelope = { executionId: String(calls), status: 'success', output: input === undefined, error: null };
      const text = JSON.stringify(envelope);
      response.writeHead(200, { ...json, 'Content-Length': Buffer.byteLength(text) });
      response.end(text);
    });
  });
});
