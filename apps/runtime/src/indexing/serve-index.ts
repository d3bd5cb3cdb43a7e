import type { RuntimeIndexRequest } from '@drover/contracts';
import type { Secret } from '@drover/service-kit';
import { isJsonObject } from '../applications/json-text.js';
import { functionKeyRequired } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { BodyLimits } from '../exchanges/functions-wire.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { writeJson } from '../exchanges/write-answer.js';
import { isSameKey } from '../routes/function-keys.js';
import type { ApplicationIndexer } from './application-indexer.js';
import { indexRequestInvalid } from './errors.js';

/** What serves requests to index an application. */
export interface IndexSource {
  readonly indexer: Pick<ApplicationIndexer, 'index'>;
  /** Undefined: no request is served, because each runs code. */
  readonly masterKey: Secret | undefined;
}

/** Names and values of settings, and four short texts. */
const maxBodyBytes = 4 * 1_048_576;

/**
 * Serves a request to index an application. It runs code in any directory, so the master key is required even where
 * functions are called without keys.
 */
export async function serveIndex(
  exchange: Exchange,
  { indexer, masterKey }: IndexSource,
  { key, bodies }: { readonly key: string | undefined; readonly bodies: BodyLimits },
): Promise<void> {
  exchange.functionName = 'admin';
  if (!masterKey || key === undefined || !isSameKey(key, masterKey.reveal()))
    throw new Refused(functionKeyRequired({}));
  const body = await exchange.readBody(bodies, Math.min(maxBodyBytes, bodies.bufferedBytes));
  const request = parseRequest(body.toString('utf8'));
  if ('problem' in request) throw new Refused(indexRequestInvalid(request));
  writeJson(exchange, 200, await indexer.index(request));
}

const texts = ['tenantId', 'applicationId', 'codeVersion', 'directory'] as const;

function parseRequest(text: string): RuntimeIndexRequest | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'the body is not JSON' };
  }
  if (!isJsonObject(value)) return { problem: 'the body is not a JSON object' };
  const { settings } = value;
  for (const name of texts)
    if (typeof value[name] !== 'string' || value[name] === '') return { problem: `${name} is not a text` };
  if (!isJsonObject(settings) || Object.values(settings).some((one) => typeof one !== 'string'))
    return { problem: 'settings is not an object of texts' };
  return value as unknown as RuntimeIndexRequest; // checked field by field
}
