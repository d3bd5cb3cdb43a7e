import { functionNotFound } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { FunctionKeys, KeyOwner } from '../routes/function-keys.js';
import type { HttpApplication } from '../routes/http-application.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import type { BodyLimits } from '../exchanges/functions-wire.js';
import { writeJson } from '../exchanges/write-answer.js';

/** One request for the admin API. */
export interface AdminCall {
  readonly exchange: Exchange;
  /** The one that the request came to. */
  readonly application: HttpApplication;
  /** All that share its address, it among them, in the order in which they are asked for a route. */
  readonly applications: readonly HttpApplication[];
  /** Behind `/admin/`, decoded. */
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
