import type { Readable } from 'node:stream';

/**
 * Reads a body whose announced length is at most `maxBytes`, so that it can be sent more than once. Returns undefined if it is longer
 * or not announced. Rejects if the client leaves before its end.
 */
export function readShortBody(
  source: Readable,
  announced: string | undefined,
  maxBytes: number,
): Promise<Buffer> | undefined {
  if (!(Number(announced ?? Infinity) <= maxBytes)) return undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    source.on('data', (chunk: Buffer) => chunks.push(chunk));
    source.once('end', () => resolve(Buffer.concat(chunks)));
    source.once('error', reject);
    source.once('close', () => reject(new Error('The client closed the connection.')));
  });
}
