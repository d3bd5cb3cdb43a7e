/** What an answer's headers say about it; made in one pass over them. */
export class AnswerHeaders {
  contentType: string | undefined;
  isCompressed = false;
  retryAfter: string | undefined;
  /** The handler chose the status itself. */
  isFunctionStatus = false;
  isHandedOver = false;
  isBase64 = false;
  isColdStart = false;
  initDurationMs: number | undefined;

  /** Names and values in turn. Nearly all headers are told apart by the length of their names alone. */
  constructor(raw: readonly string[]) {
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = raw[index];
      const value = raw[index + 1];
      if (name !== undefined && value !== undefined && lengthsThatMatter.has(name.length))
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

const lengthsThatMatter = new Set(
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

/** Beside those that begin with x-. None of them says anything about the connection or about who is calling. */
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

/** Addressed to us, or to a proxy before us, which would fetch files or change its mind for them. */
const kept = /^x-(?:nanofaas-|drover-|accel-|sendfile|execution-id$|cold-start$|init-duration-ms$)/;

const mostHeaders = 32;
const mostHeaderBytes = 8_192;

/** What a handler with a status of its own says beside it; the first of each name, and no more than is kept of an execution. */
export function handlerHeaders(raw: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  let bytes = 0;
  let number = 0;
  for (let index = 0; index + 1 < raw.length && number < mostHeaders; index += 2) {
    const name = raw[index]?.toLowerCase() ?? '';
    if (!passedOn.has(name) && (!name.startsWith('x-') || kept.test(name))) continue;
    const value = withoutControls(raw[index + 1] ?? '');
    bytes += name.length + value.length;
    if (bytes > mostHeaderBytes) break;
    if (name in headers) continue;
    headers[name] = value;
    number += 1;
  }
  return headers;
}

/** For terminals, logs and header lines. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is removed
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
