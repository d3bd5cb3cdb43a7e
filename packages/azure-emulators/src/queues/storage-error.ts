/** An error of the Storage REST API: its code and its status are the contract, `details` are further elements of the response. */
export class StorageError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'StorageError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export const queueNotFound = (): StorageError =>
  new StorageError(404, 'QueueNotFound', 'The specified queue does not exist.');

export const queueAlreadyExists = (): StorageError =>
  new StorageError(409, 'QueueAlreadyExists', 'The specified queue already exists.');

export const queueMessageNotFound = (): StorageError =>
  new StorageError(404, 'MessageNotFound', 'The specified message does not exist.');

export const popReceiptMismatch = (): StorageError =>
  new StorageError(
    400,
    'PopReceiptMismatch',
    'The specified pop receipt did not match the pop receipt for a dequeued message.',
  );

export const invalidXml = (reason: string): StorageError =>
  new StorageError(400, 'InvalidXmlDocument', 'XML specified is not syntactically valid.', { Reason: reason });

export const messageTooLarge = (maxLimit: number): StorageError =>
  new StorageError(
    413,
    'RequestBodyTooLarge',
    'The request body is too large and exceeds the maximum permissible limit.',
    { MaxLimit: `${maxLimit}` },
  );

export const missingQueryParameter = (name: string): StorageError =>
  new StorageError(
    400,
    'MissingRequiredQueryParameter',
    'A query parameter that is mandatory for this request is not specified.',
    { QueryParameterName: name },
  );

export const invalidQueryParameter = (name: string, value: string, reason: string): StorageError =>
  new StorageError(
    400,
    'InvalidQueryParameterValue',
    'Value for one of the query parameters specified in the request URI is invalid.',
    { QueryParameterName: name, QueryParameterValue: value, Reason: reason },
  );

export const queryParameterOutOfRange = (name: string, value: number, min: number, max: number): StorageError =>
  new StorageError(
    400,
    'OutOfRangeQueryParameterValue',
    'One of the query parameters specified in the request URI is outside the permissible range.',
    {
      QueryParameterName: name,
      QueryParameterValue: `${value}`,
      MinimumAllowed: `${min}`,
      MaximumAllowed: `${max}`,
    },
  );

/** The bound of the emulator, not of Azure. Not 503, which the SDKs repeat four times before they report it. */
export const memoryLimitReached = (maxBytes: number): StorageError =>
  new StorageError(
    507,
    'EmulatorMemoryLimitReached',
    `The queues hold ${Math.round(maxBytes / 1024 / 1024)} MiB of messages, the limit of this emulator. ` +
      'Receive or clear messages, or start it with a higher limit (maxBytes, --max-memory).',
  );
