import http from 'node:http';
import https from 'node:https';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { SendRequest } from '@drover/contracts';

/** Written at a time: progress is reported after each. */
const chunkBytes = 256 * 1_024;

/**
 * Returns what sends requests as `fetch` does, and calls `onProgress` with the bytes of an upload that the connection has taken, of all.
 * Requests without an upload are sent by `fetch`, which reports none.
 */
export function sendReporting(onProgress: (sent: number, of: number) => void): SendRequest {
  return (url, request) => {
    const { body } = request;
    return body instanceof Uint8Array ? upload(url, { ...request, body }, onProgress) : fetch(url, request);
  };
}

type Upload = Omit<Parameters<SendRequest>[1], 'body'> & { readonly body: Uint8Array };

function upload(
  url: URL,
  { method, headers, body, signal }: Upload,
  onProgress: (sent: number, of: number) => void,
): ReturnType<SendRequest> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'https:' ? https : http;
    const sending = open(url, { method, headers: { ...headers, 'content-length': body.length }, signal });
    sending.on('error', reject); // without effect once the server has answered
    sending.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      const get = (name: string): string | null => response.headers[name.toLowerCase()]?.toString() ?? null;
      resolve({ status, ok: status >= 200 && status < 300, headers: { get }, text: () => text(response) });
    });
    write(sending, body, onProgress).catch(reject);
  });
}

/** Ends early if the server answers before it has read all, as it does for a body that is too large. */
async function write(
  sending: http.ClientRequest,
  body: Uint8Array,
  onProgress: (sent: number, of: number) => void,
): Promise<void> {
  const over = new AbortController();
  sending.once('response', () => over.abort());
  sending.once('close', () => over.abort());
  for (let start = 0; start < body.length && !over.signal.aborted; start += chunkBytes) {
    const chunk = body.subarray(start, start + chunkBytes);
    if (!sending.write(chunk)) await once(sending, 'drain', { signal: over.signal }).catch(() => undefined);
    if (!over.signal.aborted) onProgress(start + chunk.length, body.length);
  }
  sending.end();
}
