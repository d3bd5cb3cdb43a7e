import type { StorageError } from './storage-error.js';
import { escapeXml, xmlDeclaration } from '../xml/xml.js';

/** One response. It is sent when `durable` resolves. */
export interface QueueReply {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** XML. */
  readonly body?: string;
  readonly durable?: Promise<void> | undefined;
}

export function errorReply({ status, code, message, details }: StorageError, requestId: string): QueueReply {
  const text = `${message}\nRequestId:${requestId}\nTime:${new Date().toISOString()}`;
  const elements = Object.entries({ Code: code, Message: text, ...details }).map(
    ([name, value]) => `<${name}>${escapeXml(value)}</${name}>`,
  );
  return { status, headers: ['x-ms-error-code', code], body: `${xmlDeclaration}<Error>${elements.join('')}</Error>` };
}
