import http, { type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * Asks a platform over HTTP. Not with `fetch`, whose first use takes 80 ms longer: every start would wait for it. Rejects if the
 * address cannot be reached, or with the reason of the signal.
 */
export async function getText(
  url: URL,
  { signal, headers = {} }: { readonly signal: AbortSignal; readonly headers?: OutgoingHttpHeaders },
): Promise<{ readonly status: number; readonly text: string }> {
  const { get } = url.protocol === 'https:' ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    const request = get(url, { signal, headers, agent: false }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, text: body }), reject);
    });
    request.once('error', reject);
  });
}
