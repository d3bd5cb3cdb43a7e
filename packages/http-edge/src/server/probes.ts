import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Health, Sinks } from '@drover/service-kit';

export interface ProbesOptions {
  readonly health: Pick<Health, 'report' | 'isReady'>;
  readonly metrics: Sinks['metrics'];
}

/** Serves `/healthz`, `/readyz` and `/metrics`. Returns false for any other path. */
export function probes({ health, metrics }: ProbesOptions) {
  const answer = (response: ServerResponse, status: number, type: string, body: string | Buffer): void => {
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
    response.end(body);
  };
  return ({ method, url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    if (method !== 'GET' && method !== 'HEAD') return false;
    const [path] = url.split('?', 1);
    if (path === '/healthz' || path === '/readyz') {
      const status = path === '/healthz' || health.isReady() ? 200 : 503;
      answer(response, status, 'application/json; charset=utf-8', JSON.stringify(health.report()));
    } else if (path === '/metrics') {
      void metrics.page().then(
        (pieces) => answer(response, 200, 'text/plain; version=0.0.4; charset=utf-8', Buffer.concat(pieces)),
        () => answer(response, 500, 'text/plain', ''),
      );
    } else return false;
    return true;
  };
}
