import type { ColdStartBreakdown } from '@drover/contracts';
import { count, seconds, type Readers, type TraceContext } from '@drover/service-kit';
import { describeColdStart } from './cold-start.js';
import { levelOfLine, type WorkerLogLine } from './worker-log.js';

export type FunctionInvocationObservation =
  | {
      readonly kind: 'invocation.routed';
      readonly function: string;
      readonly invocationId: string;
      readonly workerId: string;
    }
  | {
      readonly kind: 'invocation.ended';
      readonly function: string;
      readonly invocationId: string;
      readonly outcome: 'succeeded' | 'failed' | 'rejected';
      readonly code: string | undefined;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'invocation.threw';
      readonly function: string;
      readonly invocationId: string;
      /** Type, message and stack. */
      readonly exception: string;
    }
  | {
      /** An invocation that waited for a worker has ended. */
      readonly kind: 'invocation.waited';
      readonly function: string;
      readonly invocationId: string;
      /** It waited for the start of a worker, not only for a free slot. */
      readonly isColdStart: boolean;
      readonly waitedMs: number;
      readonly stepsMs: ColdStartBreakdown;
      readonly trace: TraceContext | undefined;
      readonly endedAt: number;
      readonly isFailed: boolean;
    }
  | { readonly kind: 'invocation.crowded'; readonly function: string; readonly isRefused: boolean }
  | {
      readonly kind: 'invocation.suspect';
      readonly function: string;
      readonly messageId: string | undefined;
      readonly workerId: string;
      readonly verdict: 'isolate' | 'wait' | 'refuse' | 'poison';
    }
  | { readonly kind: 'invocation.stray'; readonly workerId: string; readonly invocationId: string }
  | { readonly kind: 'invocation.orphan'; readonly invocationId: string; readonly workerId: string }
  | {
      readonly kind: 'worker.log';
      readonly workerId: string;
      /** Of the invocation that is in flight; undefined if the line belongs to none. */
      readonly function: string | undefined;
      readonly invocationId: string | undefined;
      readonly line: WorkerLogLine;
    }
  | {
      readonly kind: 'output.failed';
      readonly function: string;
      readonly invocationId: string;
      readonly binding: string;
      /** The outputs that were written before. */
      readonly written: readonly string[];
      readonly error: unknown;
    };

/** A wait for a free slot is no event for the author of the app, as it is after the loss of a worker. */
export function levelOfWait({ isColdStart }: { readonly isColdStart: boolean }): 'info' | 'debug' {
  return isColdStart ? 'info' : 'debug';
}

export const functionInvocationReaders: Readers<FunctionInvocationObservation> = {
  // The wording of these two lines is that of the Azure Functions host, which tools look for.
  'invocation.routed': {
    level: 'info',
    isPerCall: true,
    say: (o) => `Executing 'Functions.${o.function}' (Id=${o.invocationId})`,
    metrics: [
      count('drover_runtime_invocations_routed_total', 'Invocations sent to a function worker', {
        labelNames: ['function'],
        labels: (o) => ({ function: o.function }),
      }),
    ],
  },
  'invocation.ended': {
    level: (o) => (o.outcome === 'succeeded' ? 'info' : 'error'),
    isPerCall: true,
    say: (o) =>
      `Executed 'Functions.${o.function}' (${o.outcome === 'succeeded' ? 'Succeeded' : 'Failed'}, Id=${o.invocationId}, Duration=${Math.round(o.durationMs)}ms)`,
    metrics: [
      seconds('drover_runtime_invocation_seconds', 'Duration of invocations, time in the queue included', {
        labelNames: ['function', 'outcome'],
        labels: (o) => ({ function: o.function, outcome: o.outcome }),
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'invocation.threw': {
    level: 'error',
    say: (o) => `Function ${o.function} failed (Id=${o.invocationId}): ${o.exception}`,
  },
  'invocation.waited': {
    level: levelOfWait,
    isPerCall: true,
    say: (o) =>
      `'Functions.${o.function}' (Id=${o.invocationId}) waited ${Math.round(o.waitedMs)} ms for a function worker. Milliseconds by step: ${describeColdStart(o.stepsMs)}`,
    metrics: [
      seconds('drover_runtime_worker_wait_seconds', 'Time that invocations waited for a function worker', {
        labelNames: ['function', 'cold_start'],
        labels: (o) => ({ function: o.function, cold_start: String(o.isColdStart) }),
        valueMs: (o) => o.waitedMs,
      }),
    ],
    span: (o) =>
      o.trace && {
        name: `invoke ${o.function}`,
        trace: o.trace,
        endedAt: o.endedAt,
        durationMs: o.waitedMs + o.stepsMs.run,
        attributes: {
          'faas.name': o.function,
          'faas.invocation_id': o.invocationId,
          'faas.coldstart': o.isColdStart,
          ...Object.fromEntries(Object.entries(o.stepsMs).map(([step, ms]) => [`drover.cold_start.${step}_ms`, ms])),
        },
        failed: o.isFailed,
      },
  },
  'invocation.crowded': {
    level: 'debug',
    say: (o) => `${o.function} ${o.isRefused ? 'was refused' : 'is queued'}: no function worker has a free slot`,
    metrics: [
      count('drover_runtime_invocations_crowded_total', 'Invocations that were queued or refused for lack of a slot', {
        labelNames: ['refused'],
        labels: (o) => ({ refused: String(o.isRefused) }),
      }),
    ],
  },
  'invocation.suspect': {
    level: (o) => (o.verdict === 'poison' ? 'error' : 'warn'),
    say: (o) => {
      const what = o.messageId === undefined ? `function ${o.function}` : `message ${o.messageId} of ${o.function}`;
      return o.verdict === 'poison'
        ? `${what} ended function worker ${o.workerId}, its second one, and is not run again`
        : `${what} ran on function worker ${o.workerId} when it was lost, and runs in an isolated worker until it gets an answer`;
    },
    metrics: [
      count('drover_runtime_crash_suspects_total', 'Invocations that may have ended their function worker', {
        labelNames: ['function', 'verdict'],
        labels: (o) => ({ function: o.function, verdict: o.verdict }),
      }),
    ],
  },
  'invocation.stray': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} responded to ${o.invocationId}, which is not in flight there`,
    metrics: [count('drover_runtime_responses_stray_total', 'Responses to unknown or finished invocations')],
  },
  'invocation.orphan': {
    level: 'error',
    say: (o) => `invocation ${o.invocationId} on ${o.workerId} outlived its timeout and was ended by the sweep`,
  },
  'worker.log': {
    level: ({ line }) => levelOfLine(line),
    say: (o) => o.line.text,
  },
  'output.failed': {
    level: 'error',
    say: (o) =>
      `output ${o.binding} of ${o.function} (Id=${o.invocationId}) could not be written: ${o.error instanceof Error ? o.error.message : String(o.error)}${o.written.length > 0 ? ` Already written: ${o.written.join(', ')}` : ''}`,
  },
};
