import type { CodedError } from '@drover/contracts';
import { unreadableKind, type PortLimits } from '@drover/http-edge';
import { bodyUnreadable, headersTooLarge, requestTooSlow } from '../errors.js';

/** Returns the error for a request that Node's server could not read. */
export function toUnreadableError(code: string, limits: PortLimits): CodedError {
  switch (unreadableKind(code)) {
    case 'head-too-large':
      return headersTooLarge({ limitBytes: limits.headerBytes, limitCount: limits.headers });
    case 'too-slow':
      return requestTooSlow({ headersMs: limits.headersMs, requestMs: limits.requestMs });
    case 'not-http':
      return bodyUnreadable({ problem: 'the request is not readable HTTP' });
  }
}
