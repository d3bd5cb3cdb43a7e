import { createHash } from 'node:crypto';
import type { AcceptedCall } from '@drover/contracts';

/** What Kubernetes takes as the value of a label. */
const labelValue = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)$/;
const maxLabelLength = 63;
const hashLength = 10;
/** Printable ASCII: annotations are shown on terminals and copied into other systems. */
const annotationValue = /^[\u0020-\u007e]{1,255}$/;

export interface JobMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** How a job is marked, so that it can be found by function, execution and attempt. Everything fits, whatever callers sent. */
export function jobMarks(
  {
    functionName,
    executionId,
    traceId,
    idempotencyKey,
  }: Pick<AcceptedCall, 'functionName' | 'executionId' | 'traceId' | 'idempotencyKey'>,
  attempt: number,
): JobMarks {
  return {
    labels: { function: toLabel(functionName), executionId: toLabel(executionId), attempt: toLabel(String(attempt)) },
    annotations: {
      ...(traceId !== undefined && { traceId: toAnnotation(traceId) }),
      ...(idempotencyKey !== undefined && { idempotencyKey: toAnnotation(idempotencyKey) }),
    },
  };
}

/** As it is where it may be; else as much of it as fits, and a hash that tells it from others like it. */
export function toLabel(text: string): string {
  if (labelValue.test(text)) return text;
  const readable = text
    .slice(0, maxLabelLength - hashLength - 1)
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '');
  const hash = sha256(text).slice(0, hashLength);
  return readable === '' ? hash : `${readable}-${hash}`;
}

/** Callers choose these: what is too long or not printable is replaced by its hash, by which it can still be looked for. */
function toAnnotation(text: string): string {
  return annotationValue.test(text) ? text : `sha256:${sha256(text)}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
