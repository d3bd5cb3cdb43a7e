import { functionNotFound } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { FunctionKeys, KeyOwner } from '../routes/function-keys.js';
import type { HttpApplication } from '../routes/http-application.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import type { BodyLimits } from '../exchanges/functions-wire.js';
import { writeJson } from '../exchanges/write-answer.js';

/** One request of the admin API. */
export interface AdminCall {
  readonly exchange: Exchange;
  /** The application that the request resolved to. */
  readonly application: HttpApplication;
  /** All applications, in the order in which routes are resolved. */
  readonly applications: readonly HttpApplication[];
  /** Decoded segments after `/admin/`. */
  readonly path: readonly string[];
  readonly key: string | undefined;
  readonly bodies: BodyLimits;
  readonly baseUrl: string;
  readonly observe: HttpObserve;
}

export function writeKeys({ exchange }: AdminCall, keys: FunctionKeys, owner: KeyOwner): void {
  const list = keys.list(owner).map(({ name, value }) => ({ name, value: value.reveal() }));
  writeJson(exchange, 200, { keys: list, links: [] });
}

export function notFound({ exchange: { method, target } }: AdminCall): Refused {
  return new Refused(functionNotFound({ method, path: target.path.slice(0, 200) }));
}
