import { toHandlerValue, type NullableString, type RpcHttp } from '@drover/function-rpc';
import { clientPrincipalOf, type HttpUser } from './client-principal.js';
import { parseForm, type Form } from './form.js';

/** `context.req` of a v3 function. */
export class LegacyRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly headers: Record<string, string>;
  readonly query: Record<string, string>;
  readonly params: Record<string, string>;
  /** Parsed if it is JSON, a Buffer for binary content types, otherwise text. */
  readonly body: unknown;
  /** The body as text. */
  readonly rawBody: string | undefined;
  readonly bufferBody: Buffer | undefined;
  #user: HttpUser | null | undefined;

  constructor(http: RpcHttp) {
    this.method = http.method;
    this.url = http.url;
    this.originalUrl = http.url;
    this.headers = valuesOf(http.nullableHeaders, http.headers);
    this.query = valuesOf(http.nullableQuery, http.query);
    this.params = valuesOf(http.nullableParams, http.params);
    const bytes = http.body?.bytes;
    if (bytes) {
      this.bufferBody = Buffer.from(bytes);
      const type = this.get('content-type')?.toLowerCase() ?? '';
      if (type === 'application/octet-stream' || type.startsWith('multipart/')) {
        this.body = this.bufferBody;
        this.rawBody = this.bufferBody.toString();
      } else {
        this.rawBody = decode(this.bufferBody);
        this.body = toHandlerValue({ string: this.rawBody });
      }
    } else if (http.body) {
      this.body = toHandlerValue(http.body);
      this.rawBody = http.body.string ?? http.body.json;
    }
  }

  /** The caller as authenticated by App Service or Static Web Apps. */
  get user(): HttpUser | null {
    this.#user ??= clientPrincipalOf(this.headers);
    return this.#user;
  }

  get(field: string): string | undefined {
    return this.headers[field.toLowerCase()];
  }

  parseFormBody(): Form {
    const type = this.get('content-type');
    if (!type) throw new Error('"content-type" header must be defined.');
    return parseForm(this.bufferBody ?? Buffer.from(this.rawBody ?? ''), type);
  }
}

function valuesOf(
  nullable: Readonly<Record<string, NullableString>>,
  plain: Readonly<Record<string, string>>,
): Record<string, string> {
  const values: Record<string, string> = {};
  const names = Object.keys(nullable);
  for (const name of names) values[name] = nullable[name]?.value ?? '';
  return names.length > 0 ? values : Object.assign(values, plain);
}

/** Decodes by the byte order mark, otherwise as UTF-8. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  return new TextDecoder('utf-8').decode(bytes);
}
