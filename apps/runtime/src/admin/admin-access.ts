import type { ReceivedRequest } from '../exchanges/functions-wire.js';
import { isFromThisMachine } from '../exchanges/caller-address.js';
import type { HttpApplication } from '../routes/http-application.js';

/**
 * Whether a request may administer this application: it presents the master key. If the application requires no keys, local
 * requests may too, unless they come from a page in a browser.
 */
export function mayAdminister(
  { keys, requiresKeys }: Pick<HttpApplication, 'keys' | 'requiresKeys'>,
  request: ReceivedRequest,
  key: string | undefined,
): boolean {
  if (key !== undefined && keys.present(key).isMaster) return true;
  return !requiresKeys && isFromThisMachine(request);
}
