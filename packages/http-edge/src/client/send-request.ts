import http from 'node:http';
import { text } from 'node:stream/consumers';
import type { SendRequest } from '@drover/contracts';

/**
 * Sends a request on a connection of its own. Takes the place of `fetch` where calls are rare: the first call of `fetch` takes 30 ms of
 * CPU and 13 MB of memory more.
 */
export const sendRequest: SendRequest = async (url, { method, headers, body, signal }) => {
  const { request: open } = url.protocol === 'https:' ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    const request = open(url, { method, headers, signal, agent: false }, (answer) => {
      const { statusCode: status = 0 } = answer;
      const received = text(answer);
      // The caller may look at the status only.
      received.catch(() => undefined);
      resolve({ status, ok: status >= 200 && status < 300, text: () => received });
    });
    request.once('error', reject);
    request.end(body);
  });
};
