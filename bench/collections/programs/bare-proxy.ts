import { Pool } from 'undici';
import { listenHttp, readBody } from '../../functions-api/programs/serve-http.js';
import { serveRequests } from '../../harness/program.js';

export interface BareProxyRequest {
  readonly workerPort: number;
}

/** The least that a reverse proxy does: node:http in front, undici behind, no routes and no choice of a worker. */
serveRequests<BareProxyRequest>(({ workerPort }) => {
  const pool = new Pool(`http://127.0.0.1:${workerPort}`, { connections: 64 });
  return listenHttp((request, response) => {
    const { method = 'GET', url: path = '/' } = request;
    const headers = { authorization: request.headers.authorization, 'content-type': request.headers['content-type'] };
    readBody(request, (body) => {
      void pool
        .request({ method, path, headers, ...(body.length > 0 && { body }) })
        .then(async (answer) => {
          const text = await answer.body.text();
          response.writeHead(answer.statusCode, {
            'Content-Type': answer.headers['content-type'],
            'Content-Length': Buffer.byteLength(text),
          });
          response.end(text);
        })
        .catch((error: unknown) => response.writeHead(502).end(String(error)));
    });
  });
});
