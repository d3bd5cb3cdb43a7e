import { Pool } from 'undici';
import { serveRequests } from '../../harness/program.js';
import { json, listenHttp, readBody } from './serve-http.js';

export interface ProxyRequest {
  readonly endpointPort: number;
}

/** The least that one can do: node:http in front, undici behind, and the bytes as they came. */
serveRequests<ProxyRequest>(({ endpointPort }) => {
  const pool = new Pool(`http://127.0.0.1:${endpointPort}`, { connections: 64 });
  return listenHttp((request, response) => {
    readBody(request, (body) => {
      void pool
        .request({ method: 'POST', path: '/noop', headers: { 'content-type': 'application/json' }, body })
        .then(async (answer) => {
          const text = await answer.body.text();
          response.writeHead(answer.statusCode, { ...json, 'Content-Length': Buffer.byteLength(text) });
          response.end(text);
        })
        .catch((error: unknown) => response.writeHead(502).end(String(error)));
    });
  });
});
