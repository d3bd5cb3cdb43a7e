import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Caller } from '@drover/collection-engine';
import { Value } from 'typebox/value';
import { CompletionBody } from '@drover/contracts';
import type { AttemptResult } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import type { InvocationEngine } from '../executions/engine.js';
import { dropUnsetFields } from '../http/unset-fields.js';
import { parseObject } from './request/call-body.js';
import type { Exchange } from './exchange/exchange.js';

export interface CompletionContext {
  readonly engine: InvocationEngine;
  readonly bodyLimitBytes: number;
  readonly executionId: string;
  readonly caller: Caller | undefined;
  /** Set if the URL's token proves it; otherwise read from the header. */
  readonly attempt: number | undefined;
}

/** Serves `:complete`: an attempt reports its result. A late result, or one of an older attempt, is ignored. */
export function serveComplete(exchange: Exchange, context: CompletionContext): void {
  const { engine, bodyLimitBytes, executionId, caller } = context;
  exchange.readBody(bodyLimitBytes, (body) => {
    try {
      const attempt = context.attempt ?? attemptIn(exchange.request.headers['x-dispatch-attempt']);
      const result = toResult(body.toString('utf8'));
      const live = engine.live.get(executionId);
      // An execution of another tenant is treated as absent; one that has ended ignores the result.
      if (live && (caller === undefined || live.accepted.tenantId === caller.tenantId))
        engine.complete(executionId, attempt, result);
      exchange.answer(204, '');
    } catch (error) {
      exchange.refuse(error);
    }
  });
}

/** Required beside an API key: without it, the late result of an older attempt would end the current one. */
function attemptIn(header: string | string[] | undefined): number {
  if (typeof header !== 'string' || !/^[1-9]\d{0,8}$/.test(header))
    throw requestInvalid({
      problem: 'the header X-Dispatch-Attempt must be the number of the attempt, as it came with the call',
    });
  return Number(header);
}

function toResult(text: string): AttemptResult {
  const { object, spans } = parseObject(text);
  dropUnsetFields(object, CompletionBody);
  if (!Value.Check(CompletionBody, object)) {
    const [problem] = Value.Errors(CompletionBody, object);
    throw requestInvalid({ problem: `body${problem?.instancePath ?? ''} ${problem?.message ?? 'is not valid'}` });
  }
  if (!object.success) {
    const { code = 'EXECUTION_FAILED', message = 'The attempt reported a failure.' } = object.error ?? {};
    return { kind: 'failed', code: code.slice(0, 100), message: message.slice(0, 4_096), transient: false };
  }
  const span = spans.values.get('output');
  const { statusCode, headers, encoding } = object;
  return {
    kind: 'success',
    output: { json: span ? text.slice(...span) : 'null', ...(encoding && { encoding }) },
    ...(statusCode !== undefined && { statusCode }),
    ...(headers && { headers: checkedHeaders(headers) }),
  };
}

const maxHeaders = 64;
const maxHeaderLength = 8_192;

/** Validates headers that are sent as they are to callers of `/function/…`. */
function checkedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders)
    throw requestInvalid({ problem: `body.headers has more than ${maxHeaders} entries` });
  return Object.fromEntries(
    entries.map(([name, value]) => {
      try {
        if (value.length > maxHeaderLength) throw new RangeError('too long');
        validateHeaderName(name);
        validateHeaderValue(name, value);
      } catch {
        const rule = `at most ${maxHeaderLength} characters that HTTP allows`;
        throw requestInvalid({ problem: `body.headers must have names and values of ${rule}` });
      }
      return [name.toLowerCase(), value];
    }),
  );
}
