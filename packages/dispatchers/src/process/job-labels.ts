import { createHash } from 'node:crypto';
import type { AcceptedCall } from '@drover/contracts';

/** Values that Kubernetes accepts for a label. */
const labelValue = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)$/;
const maxLabelLength = 63;
const hashLength = 10;
/** Printable ASCII, since annotations are shown on terminals and copied into other systems. */
const annotationValue = /^[\u0020-\u007e]{1,255}$/;

export interface JobMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Returns labels and annotations by which a job is found. All are valid, whatever callers sent. */
export function jobMetadata(
  {
    functionName,
    executionId,
    traceId,
    idempotencyKey,
  }: Pick<AcceptedCall, 'functionName' | 'executionId' | 'traceId' | 'idempotencyKey'>,
  attempt: number,
): JobMetadata {
  return {
    labels: { function: toLabel(functionName), executionId: toLabel(executionId), attempt: toLabel(String(attempt)) },
    annotations: {
      ...(traceId !== undefined && { traceId: toAnnotation(traceId) }),
      ...(idempotencyKey !== undefined && { idempotencyKey: toAnnotation(idempotencyKey) }),
    },
  };
}

/** Returns the text if it is a valid label, otherwise its valid part with a hash that keeps labels of different texts different. */
function toLabel(text: string): string {
  if (labelValue.test(text)) return text;
  const readable = text
    .slice(0, maxLabelLength - hashLength - 1)
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '');
  const hash = sha256(text).slice(0, hashLength);
  return readable === '' ? hash : `${readable}-${hash}`;
}

/** Replaces a text that is too long or not printable by its hash, which can still be searched for. */
function toAnnotation(text: string): string {
  return annotationValue.test(text) ? text : `sha256:${sha256(text)}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
