import type { Webhook } from '@drover/trigger-sources';
import { functionKeyRequired, functionNotFound } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { BodyLimits } from '../exchanges/functions-wire.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { hasBody } from '../exchanges/read-body.js';
import { writeAnswer } from '../exchanges/write-answer.js';
import { systemKeyOf } from '../routes/derived-keys.js';
import type { HttpApplication } from '../routes/http-application.js';
import { decodeSegment, parseQuery } from '../routes/request-target.js';

interface WebhookCall {
  readonly exchange: Exchange;
  readonly applications: readonly HttpApplication[];
  /** Of the extension, from the path. */
  readonly name: string;
  readonly key: string | undefined;
  readonly bodies: BodyLimits;
  readonly observe: HttpObserve;
}

/** Returns the name of the extension in `/runtime/webhooks/<name>`; undefined for all other paths. */
export function webhookName(path: string): string | undefined {
  // The check of one letter saves the regular expression for most paths.
  if ((path.charCodeAt(1) | 32) !== 114) return undefined;
  const [, name] = /^\/runtime\/webhooks\/([^/]+)\/?$/i.exec(path) ?? [];
  return name === undefined ? undefined : decodeSegment(name);
}

/**
 * Serves a webhook: events that a source pushes to the function that the query names. Needs the system key of the extension, or
 * the master key, of an application with that trigger.
 */
export async function serveWebhook(call: WebhookCall): Promise<void> {
  const { exchange, applications, name, key, bodies, observe } = call;
  const { method, request, target } = exchange;
  exchange.functionName = 'webhook';
  const notFound = (): Refused => new Refused(functionNotFound({ method, path: target.path.slice(0, 200) }));
  const found = applications.flatMap((application) => {
    const webhook = application.webhook(name);
    return webhook ? [{ application, webhook }] : [];
  });
  if (found.length === 0) throw notFound();
  const open = found.filter(({ application }) => mayPush(application, name, key));
  if (open.length === 0) {
    const [
      {
        application: { name: application },
      } = { application: { name: 'none' } },
    ] = found;
    observe({ kind: 'http.refused', application, function: 'webhook', reason: 'key' });
    throw new Refused(functionKeyRequired({}));
  }
  const functionName = functionNameOf(target.query);
  const one = open.find(({ webhook }) => webhook.has(functionName));
  if (!one) throw notFound();
  exchange.application = one.application.name;
  exchange.functionName = functionName;
  const body = hasBody(request) ? await exchange.readBody(bodies) : Buffer.alloc(0);
  write(exchange, await one.webhook.serve(functionName, { method, headers: request.headers, body }, exchange.signal));
}

function mayPush({ keys, requiresKeys }: HttpApplication, name: string, key: string | undefined): boolean {
  if (!requiresKeys) return true;
  const presented = key === undefined ? undefined : keys.present(key);
  return presented?.isMaster === true || presented?.isFor({ kind: 'system', name: systemKeyOf(name) }) === true;
}

/** Names of query parameters are case-insensitive, as in the official host. Subscriptions of blobs write `Host.Functions.name`. */
function functionNameOf(query: string): string {
  const [, value = ''] =
    Object.entries(parseQuery(query)).find(([name]) => name.toLowerCase() === 'functionname') ?? [];
  return value.replace(/^Host\.Functions\./i, '');
}

function write(exchange: Exchange, { status, headers = {}, body }: Awaited<ReturnType<Webhook['serve']>>): void {
  const json = body === undefined ? undefined : JSON.stringify(body);
  const type = json === undefined ? [] : ['content-type', 'application/json; charset=utf-8'];
  writeAnswer(exchange, { status, headers: [...type, ...Object.entries(headers).flat()], body: json });
}
