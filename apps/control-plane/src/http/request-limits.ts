import type { IncomingMessage } from 'node:http';
import type { CodedError } from '@drover/contracts';
import { addressTooLong, bodyUnreadable, headersTooLarge, mediaTypeUnsupported } from '../errors.js';
import type { HttpLimits } from './http-limits.js';

/** What Node leaves to us, before anything else looks at the request. Nothing: it may come in. */
export function limitProblem(request: IncomingMessage, limits: HttpLimits): CodedError | undefined {
  const { url = '', rawHeaders, headers } = request;
  if (url.length > limits.addressBytes) return addressTooLong({ limitBytes: limits.addressBytes });
  if (rawHeaders.length / 2 > limits.headers)
    return headersTooLarge({ limitBytes: limits.headerBytes, limitCount: limits.headers });
  if (headers.host === undefined && request.httpVersion === '1.1')
    return bodyUnreadable({ problem: 'the request has no Host header' });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return mediaTypeUnsupported({ received: `compressed with ${encoding.slice(0, 100)}` });
  return undefined;
}
