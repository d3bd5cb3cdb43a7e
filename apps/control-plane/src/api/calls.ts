import type { TenantId } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import { requestInvalid } from '../errors.js';
import type { NewCall } from '../executions/engine-options.js';
import type { InvocationEngine } from '../executions/engine.js';
import type { FunctionQueue } from '../executions/function-queue.js';
import type { CallAnswer, CallRefusal, EnqueueResult } from '../executions/call-results.js';
import { functionUnknown, resultEvicted } from '../executions/errors.js';
import { parseBatchItem, parseObject } from './request/call-body.js';
import { budgetOf, requireJson, toCall } from './request/call-request.js';
import { toEnvelope, toEnvelopeWithout } from './answers/envelope.js';
import type { Exchange } from './exchange/exchange.js';
import { answerRaw } from './answers/raw-answer.js';
import { refuse } from './answers/refuse.js';

/** Everything that serving one call needs. */
export interface CallContext {
  readonly engine: InvocationEngine;
  readonly clock: Clock;
  readonly bodyLimitBytes: number;
  readonly callbackProblem: (url: string) => string | undefined;
  readonly tenantId: TenantId;
  readonly name: string;
}

const maxBatchItems = 1_000;

/** Serves `:invoke` and `/function/…`, which differ in the form of body and answer. */
export function serveInvoke(exchange: Exchange, context: CallContext, form: 'envelope' | 'raw'): void {
  withQueue(exchange, context, form === 'raw', (queue) => {
    const { headers } = exchange.request;
    const budgetMs = budgetOf(headers, queue.definition.timeoutMs);
    // A full queue refuses before the body is read, unless an idempotency key may refer to an existing execution.
    if (!queue.hasRoom && headers['idempotency-key'] === undefined) {
      const refusal = context.engine.refusalWithoutBody(queue, budgetMs);
      if (refusal) return refuse(exchange, refusal);
    }
    exchange.readBody(context.bodyLimitBytes, (body) =>
      exchange.guard(() => {
        const call = toCall(exchange.request, body, form, context.clock);
        checkCallback(call, context);
        const leave = context.engine.invoke(queue, call, budgetMs, (answer) =>
          form === 'raw' ? answerRaw(exchange, answer, queue.definition.mode) : answerEnvelope(exchange, answer, queue),
        );
        if (!exchange.isAnswered) exchange.onLeft = leave;
      }),
    );
  });
}

/** Serves `:enqueue` and `/async-function/…`. */
export function serveEnqueue(exchange: Exchange, context: CallContext, form: 'enqueue' | 'raw'): void {
  withQueue(exchange, context, form === 'raw', (queue) =>
    exchange.readBody(context.bodyLimitBytes, (body) =>
      exchange.guard(() => {
        const call = toCall(exchange.request, body, form, context.clock);
        checkCallback(call, context);
        context.engine.enqueue(queue, call).then(
          (accepted) => answerAccepted(exchange, accepted, form),
          (error: unknown) => exchange.refuse(error),
        );
      }),
    ),
  );
}

/** Serves `:enqueue-batch`: each item is accepted or refused on its own. */
export function serveEnqueueBatch(exchange: Exchange, context: CallContext): void {
  withQueue(exchange, context, false, (queue) =>
    exchange.readBody(context.bodyLimitBytes, (body) =>
      exchange.guard(() => {
        requireJson(exchange.request.headers);
        const calls = toBatch(body.toString('utf8'), context.clock.now());
        for (const call of calls) checkCallback(call, context);
        context.engine.enqueueAll(queue, calls).then(
          (accepted) => answerBatch(exchange, accepted),
          (error: unknown) => exchange.refuse(error),
        );
      }),
    ),
  );
}

function checkCallback({ callbackUrl }: NewCall, { callbackProblem }: CallContext): void {
  const problem = callbackUrl === undefined ? undefined : callbackProblem(callbackUrl);
  if (problem !== undefined) throw requestInvalid({ problem: `callbackUrl is refused: ${problem}` });
}

function toBatch(text: string, now: number): readonly NewCall[] {
  const { items } = parseObject(text).object;
  if (!Array.isArray(items) || items.length === 0 || items.length > maxBatchItems)
    throw requestInvalid({ problem: `body.items must be a list of 1 to ${maxBatchItems} calls` });
  return items.map((item: unknown, index) => {
    const { delayMs, runAt, ...call } = parseBatchItem(item, `body.items[${index}]`);
    return { ...call, runAt: delayMs === undefined ? runAt : now + delayMs };
  });
}

/** OpenFaaS appends a namespace to the name: if no function has the whole name, the part before the last dot is used. */
function withQueue(
  exchange: Exchange,
  context: CallContext,
  hasNamespace: boolean,
  use: (queue: FunctionQueue) => void,
): void {
  const { engine, tenantId, name } = context;
  const known = engine.findQueue(tenantId, name);
  if (known) return use(known);
  const open = async (): Promise<FunctionQueue | undefined> => {
    const dot = name.lastIndexOf('.');
    return (
      (await engine.openQueue(tenantId, name)) ??
      (hasNamespace && dot > 0 ? engine.openQueue(tenantId, name.slice(0, dot)) : undefined)
    );
  };
  open().then(
    (queue) => exchange.guard(() => (queue ? use(queue) : exchange.refuse(functionUnknown({ name })))),
    (error: unknown) => exchange.refuse(error),
  );
}

function answerEnvelope(exchange: Exchange, answer: CallAnswer, queue: FunctionQueue): void {
  switch (answer.kind) {
    case 'ended': {
      const { status, text, headers } = toEnvelope(answer.accepted.executionId, answer.outcome, queue.definition.mode);
      return exchange.answer(status, text, headers);
    }
    case 'overdue': {
      const code = answer.state === 'queued' ? 'QUEUE_TIMEOUT' : 'WAIT_TIMEOUT';
      const message = `The execution did not finish within the time that you waited. Follow it with GET /v1/executions/${answer.executionId}.`;
      const text = toEnvelopeWithout(answer.executionId, 'timeout', { code, message });
      return exchange.answer(408, text, ['x-execution-id', answer.executionId]);
    }
    case 'evicted': {
      const text = toEnvelopeWithout(answer.executionId, answer.status, resultEvicted(answer));
      return exchange.answer(410, text, ['x-execution-id', answer.executionId]);
    }
    case 'refused':
      return refuse(exchange, answer.refusal);
  }
}

function answerAccepted(exchange: Exchange, accepted: EnqueueResult, form: 'enqueue' | 'raw'): void {
  if ('refusal' in accepted) return refuse(exchange, accepted.refusal);
  const { executionId, status } = accepted;
  const headers = ['x-execution-id', executionId, ...(form === 'raw' ? ['x-call-id', executionId] : [])];
  exchange.answer(202, `{"executionId":"${executionId}","status":"${status}"}`, headers);
}

function answerBatch(exchange: Exchange, accepted: readonly EnqueueResult[]): void {
  let taken = 0;
  let refusal: CallRefusal | undefined;
  const items = accepted.map((one) => {
    if ('refusal' in one) {
      refusal ??= one.refusal;
      const { code, message } = one.refusal.error;
      return JSON.stringify({ error: code, message });
    }
    taken += 1;
    return `{"executionId":"${one.executionId}","status":"${one.status}"}`;
  });
  if (taken === 0 && refusal) return refuse(exchange, refusal);
  const headers = refusal?.retryAfterSeconds === undefined ? [] : ['retry-after', String(refusal.retryAfterSeconds)];
  exchange.answer(202, `{"accepted":${taken},"items":[${items.join(',')}]}`, headers);
}
