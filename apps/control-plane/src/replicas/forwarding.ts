import type { IncomingHttpHeaders } from 'node:http';
import type { CodedError } from '@drover/contracts';
import type { AnswerSink, BodyStream, ProxiedRequest } from '@drover/http-edge';

/** A request that is to be forwarded, and the way back to its client. */
export interface ForwardSource {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<IncomingHttpHeaders>;
    /** Names and values in turn. */
    readonly rawHeaders: readonly string[];
  };
  readonly body: Buffer | BodyStream | undefined;
  readonly sink: AnswerSink;
  /** Answers with an error. */
  readonly refuse: (error: CodedError) => void;
}

const repeatableMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** One request that is being forwarded, over all of its attempts. */
export class Forwarding {
  readonly source: ForwardSource;
  readonly body: Buffer | BodyStream | undefined;
  /** The attempt in flight. */
  proxied: ProxiedRequest | undefined;
  /** The attempt was given up because its replica is gone. */
  isAbandoned = false;

  constructor(source: ForwardSource, body: Buffer | BodyStream | undefined) {
    this.source = source;
    this.body = body;
  }

  /** The whole request is in memory: it can be sent again. */
  get isWhole(): boolean {
    return this.body === undefined || !('source' in this.body);
  }

  /** Sending it twice has the effect of sending it once. */
  get isRepeatable(): boolean {
    return this.isWhole && repeatableMethods.has(this.source.request.method);
  }
}
