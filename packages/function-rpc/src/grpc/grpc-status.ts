/** The status codes of gRPC by name. */
export const GrpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
/** A status code of gRPC, or any other number that the peer sent. */
export type GrpcStatus = number;

/** Returns the name of the status in the specification, for logs and messages. */
export function grpcStatusName(status: GrpcStatus): string {
  return Object.entries(GrpcStatus).find(([, value]) => value === status)?.[0] ?? `status ${status}`;
}

/** Ends a call with a status. The message is sent to the peer and must not contain internal details. */
export class GrpcStatusError extends Error {
  readonly code = 'FUNCTION_RPC_STATUS';
  readonly grpcStatus: GrpcStatus;

  constructor(grpcStatus: GrpcStatus, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GrpcStatusError';
    this.grpcStatus = grpcStatus;
  }
}
