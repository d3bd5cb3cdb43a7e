import type { InvocationResponse, RpcHttp, TypedData } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { isJsonObject } from '../applications/json-text.js';
import { serializeCookie } from './cookies.js';
import { functionAnswerInvalid } from './errors.js';
import { isHttp, returnedOutputs, valueOf } from './outputs.js';

/** An HTTP response that was checked and can be written. */
export interface HttpAnswer {
  readonly status: number;
  /** Names and values alternate. Without content-length and hop-by-hop headers. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | undefined;
}

const text = 'text/plain; charset=utf-8';
const json = 'application/json; charset=utf-8';
const bytes = 'application/octet-stream';

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// oxlint-disable-next-line no-control-regex -- control characters are searched for
const badHeaderValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;
/** Headers that the server sets itself. */
const ofTheConnection = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns the response of a function with an HTTP trigger. Throws FUNCTION_ANSWER_INVALID if it is not valid HTTP. */
export function httpAnswer(definition: FunctionDefinition, response: InvocationResponse): HttpAnswer {
  const answer = toAnswer(httpValue(definition, response));
  if ('problem' in answer) throw functionAnswerInvalid({ functionName: definition.name, reason: answer.problem });
  return answer;
}

/** Returns the value of the HTTP output; undefined if the function set none, or answered through the server of its worker. */
export function httpValue(
  { returns, outputs }: FunctionDefinition,
  response: InvocationResponse,
): TypedData | undefined {
  const binding = returns && isHttp(returns) ? returns : outputs.find(isHttp);
  const applied = returns || binding === undefined ? undefined : returnedOutputs(response.returnValue);
  return binding && valueOf(response, binding, applied);
}

type Answer = HttpAnswer | { readonly problem: string };

const noContent: HttpAnswer = { status: 204, headers: [], body: undefined };

function toAnswer(value: TypedData | undefined): Answer {
  if (!value) return noContent;
  if (value.http) return fromHttp(value.http);
  const described = value.json ?? value.string;
  if (described !== undefined) {
    const parsed = parseContainer(described);
    if (isJsonObject(parsed))
      return fromResponseObject(parsed) ?? { status: 200, headers: ['content-type', json], body: described };
    if (parsed !== undefined) return { status: 200, headers: ['content-type', json], body: described };
  }
  const body = toBody(value);
  return body.content === undefined
    ? noContent
    : { status: 200, headers: ['content-type', body.type], body: body.content };
}

function fromHttp({ statusCode, headers, cookies, body }: RpcHttp): Answer {
  // Informational statuses are not final responses.
  if (statusCode !== '' && !/^[2-9]\d\d$/.test(statusCode))
    return { problem: `the status ${JSON.stringify(statusCode.slice(0, 20))} is not a number from 200 to 999` };
  const status = statusCode === '' ? 200 : Number(statusCode);
  const list: string[] = [];
  let hasType = false;
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? '';
    if (!headerName.test(name))
      return { problem: `the header name ${JSON.stringify(name.slice(0, 100))} is not valid` };
    if (badHeaderValue.test(value))
      return { problem: `the value of header ${name} has characters that headers cannot have` };
    const folded = name.toLowerCase();
    if (ofTheConnection.has(folded)) continue;
    if (folded === 'content-type') hasType = true;
    list.push(name, value);
  }
  for (const cookie of cookies) {
    const serialized = serializeCookie(cookie);
    if ('problem' in serialized) return serialized;
    list.push('set-cookie', serialized.value);
  }
  const { content, type } = toBody(body);
  if (content !== undefined && content.length > 0 && !hasType) list.push('content-type', type);
  return { status, headers: list, body: content };
}

/** By convention, a JSON object with a `body` describes a whole response. */
function fromResponseObject(value: Readonly<Record<string, unknown>>): Answer | undefined {
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  if (!fields.has('body')) return undefined;
  const status = fields.get('statuscode') ?? fields.get('status') ?? 200;
  const given = fields.get('headers');
  const headers = Object.entries(isJsonObject(given) ? given : {}).map(([name, header]) => [name, String(header)]);
  const body = fields.get('body');
  return fromHttp({
    ...emptyHttp,
    statusCode: typeof status === 'string' ? status : JSON.stringify(status),
    headers: Object.fromEntries(headers) as Record<string, string>, // pairs of strings, built above
    body: body === null ? undefined : typeof body === 'string' ? { string: body } : { json: JSON.stringify(body) },
  });
}

const emptyHttp: RpcHttp = {
  method: '',
  url: '',
  headers: {},
  params: {},
  statusCode: '',
  query: {},
  enableContentNegotiation: false,
  identities: [],
  cookies: [],
  nullableHeaders: {},
  nullableParams: {},
  nullableQuery: {},
};

/** Returns the content of a body and its default content type. */
function toBody(body: TypedData | undefined): {
  readonly content: string | Uint8Array | undefined;
  readonly type: string;
} {
  const binary = body?.bytes ?? body?.stream;
  if (binary) return { content: binary, type: bytes };
  if (body?.json !== undefined) return fromJson(body.json);
  const plain = body?.string ?? body?.int ?? body?.double;
  return { content: plain === undefined ? undefined : String(plain), type: text };
}

/** Strings and numbers are written as plain text, not as JSON. */
function fromJson(described: string): { readonly content: string | undefined; readonly type: string } {
  if (parseContainer(described) !== undefined) return { content: described, type: json };
  if (described === 'null') return { content: undefined, type: json };
  try {
    return { content: String(JSON.parse(described)), type: text };
  } catch {
    return { content: described, type: text };
  }
}

function parseContainer(described: string): object | undefined {
  if (!/^\s*[[{]/.test(described)) return undefined;
  try {
    return JSON.parse(described) as object; // begins with a bracket or a brace
  } catch {
    return undefined;
  }
}
