import { bodyTooLarge, type Wire } from '@drover/http-edge';
import { recordMediaTypeUnsupported } from '../errors.js';

/** What a body of records may be. A client that says nothing about its body means JSON. */
const recordTypes = ['application/json', 'application/vnd.api+json'];
const noBody = Buffer.alloc(0);

/** Returns the whole body. Rejects if it is longer than the limit or of another media type; stays pending if it breaks off. */
export function readRecords(wire: Wire, limitBytes: number): Promise<Buffer> | Buffer {
  const { headers, method } = wire.request;
  if (method === 'GET' || method === 'HEAD') {
    wire.discardBody();
    return noBody;
  }
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = headers;
  if (encoding === undefined && (length === undefined || length === '0')) return noBody;
  const mediaType = type?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== undefined && mediaType !== '' && !recordTypes.includes(mediaType))
    throw recordMediaTypeUnsupported({ received: mediaType.slice(0, 100), accepted: recordTypes });
  return new Promise((resolve, reject) => {
    wire.readBody(limitBytes, resolve, () =>
      reject(bodyTooLarge({ limitBytes, variable: 'DROVER_RECORDS_BODY_LIMIT_BYTES' })),
    );
  });
}

/** Returns the body as it arrives, of any length and type. */
export async function* readUpload(wire: Wire): AsyncGenerator<Buffer> {
  const { body } = wire.proxied();
  if (body === undefined) return;
  if (Buffer.isBuffer(body)) return yield body;
  // An operation that stops reading must not close the connection: its answer still has to be sent.
  yield* body.source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}
