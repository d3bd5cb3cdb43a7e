/** The headers of a response that decide how it is read, from one pass over all of them. */
export class AnswerHeaders {
  contentType: string | undefined;
  isCompressed = false;
  retryAfter: string | undefined;
  /** The handler chose the status: it is part of the result, not a failure. */
  isFunctionStatus = false;
  isHandedOver = false;
  isBase64 = false;
  isColdStart = false;
  initDurationMs: number | undefined;

  /** `raw`: names and values alternate. The length of the name rules out nearly all other headers. */
  constructor(raw: readonly string[]) {
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = raw[index];
      const value = raw[index + 1];
      if (name !== undefined && value !== undefined && lengthsOfInterest.has(name.length))
        this.#take(name.toLowerCase(), value);
    }
  }

  #take(name: string, value: string): void {
    switch (name) {
      case 'content-type':
        this.contentType ??= value;
        break;
      case 'content-encoding':
        this.isCompressed = value.toLowerCase() !== 'identity';
        break;
      case 'retry-after':
        this.retryAfter = value;
        break;
      case 'x-nanofaas-function-status':
      case 'x-drover-function-status':
        this.isFunctionStatus = isTrue(value);
        break;
      case 'x-drover-handed-over':
        this.isHandedOver = isTrue(value);
        break;
      case 'x-nanofaas-encoding':
      case 'x-drover-encoding':
        this.isBase64 = value.toLowerCase() === 'base64';
        break;
      case 'x-cold-start':
        this.isColdStart = isTrue(value);
        break;
      case 'x-init-duration-ms':
        this.initDurationMs = milliseconds(value);
        break;
    }
  }
}

const lengthsOfInterest = new Set(
  [
    'content-type',
    'content-encoding',
    'retry-after',
    'x-nanofaas-function-status',
    'x-drover-function-status',
    'x-drover-handed-over',
    'x-nanofaas-encoding',
    'x-drover-encoding',
    'x-cold-start',
    'x-init-duration-ms',
  ].map((name) => name.length),
);

function isTrue(value: string): boolean {
  return value.toLowerCase() === 'true';
}

function milliseconds(text: string): number | undefined {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && Number.isFinite(value) ? value : undefined;
}

/** Headers of handlers that are passed on, beside those that begin with x-. None concerns the connection or credentials. */
const passedOn = new Set([
  'cache-control',
  'content-disposition',
  'content-language',
  'content-type',
  'etag',
  'last-modified',
  'link',
  'location',
  'retry-after',
]);

/** Not passed on: addressed to the platform, or to a proxy before it, which would serve files because of them. */
const internal = /^x-(?:nanofaas-|drover-|accel-|sendfile|execution-id$|cold-start$|init-duration-ms$)/;

const maxHeaders = 32;
const maxHeaderBytes = 8_192;

/** Returns the headers of a handler that chose its status: the first of each name, within the limits of an execution. */
export function handlerHeaders(raw: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  let bytes = 0;
  let number = 0;
  for (let index = 0; index + 1 < raw.length && number < maxHeaders; index += 2) {
    const name = raw[index]?.toLowerCase() ?? '';
    if (!passedOn.has(name) && (!name.startsWith('x-') || internal.test(name))) continue;
    const value = withoutControls(raw[index + 1] ?? '');
    bytes += name.length + value.length;
    if (bytes > maxHeaderBytes) break;
    if (name in headers) continue;
    headers[name] = value;
    number += 1;
  }
  return headers;
}

/** Makes text safe for terminals, logs and header lines. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
