import type { IncomingMessage } from 'node:http';
import type { CodedError } from '@drover/contracts';
import { addressTooLong, bodyUnreadable, headersTooLarge, mediaTypeUnsupported } from '../errors/edge-errors.js';
import type { PortLimits } from './port-limits.js';

/** Checks the limits that Node's server leaves to its user. Returns undefined if the request is within them. */
export function limitProblem(request: IncomingMessage, limits: PortLimits): CodedError | undefined {
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
