/** An error of the service, with its AMQP condition or the status of its response. */
export class AmqpConditionError extends Error {
  override readonly name = 'AmqpConditionError';
  readonly condition: string;

  constructor(condition: string, description: string, cause?: unknown) {
    super(description === '' ? condition : description, { cause });
    this.condition = condition;
  }
}

/** Makes an error of what the service sent with the end of a connection, session or link. */
export function toConditionError(error: unknown): AmqpConditionError {
  const { condition, description } = Object(error) as { readonly condition?: unknown; readonly description?: unknown }; // an AMQP error, if any
  return new AmqpConditionError(
    typeof condition === 'string' ? condition : 'amqp:internal-error',
    typeof description === 'string' ? description : '',
    error,
  );
}
