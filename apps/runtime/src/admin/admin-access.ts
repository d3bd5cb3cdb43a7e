import type { ReceivedRequest } from '../exchanges/functions-wire.js';
import { isFromThisMachine } from '../exchanges/caller-address.js';
import type { HttpApplication } from '../routes/http-application.js';

/**
 * Whether a request may see and do what only an administrator of this application may: it has the master key. Where no keys
 * are asked for, the developer at this machine needs none either, but the pages in their browser do.
 */
export function mayAdminister(
  { keys, requiresKeys }: Pick<HttpApplication, 'keys' | 'requiresKeys'>,
  request: ReceivedRequest,
  key: string | undefined,
): boolean {
  if (key !== undefined && keys.present(key).isMaster) return true;
  return !requiresKeys && isFromThisMachine(request);
}
