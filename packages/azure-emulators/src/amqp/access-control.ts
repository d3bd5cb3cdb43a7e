import type { AmqpConnection } from './amqp-connection.js';
import { amqpConditions, type AmqpError, type ManagementReply, type ManagementRequest } from './amqp-service.js';
import { checkSharedAccessSignature, type SharedAccessKeys } from './sas-token.js';

/** The `$cbs` node: accepts every token, or only well signed ones when the namespace has keys. */
export class AccessControl {
  readonly #keys: SharedAccessKeys | undefined;

  constructor(keys: SharedAccessKeys | undefined) {
    this.#keys = keys;
  }

  putToken(request: ManagementRequest, connection: AmqpConnection): ManagementReply {
    if (request.operation !== 'put-token') {
      const description = `The operation '${request.operation}' is unknown at $cbs. Send put-token.`;
      return { status: 400, condition: amqpConditions.notImplemented, description };
    }
    if (!this.#keys) return accepted;
    const token = typeof request.body === 'string' ? request.body : '';
    const check = checkSharedAccessSignature(token, this.#keys, Date.now());
    if (!check.valid) {
      const description = `The token was refused: ${check.reason}. Check SharedAccessKeyName and SharedAccessKey of the connection string.`;
      return { status: 401, condition: amqpConditions.unauthorized, description };
    }
    connection.tokens.set(String(request.properties.name), check.expiresAtMs);
    return accepted;
  }

  /** Returns why the connection may not attach to an entity; undefined when it may. */
  refusal(connection: AmqpConnection): AmqpError | undefined {
    if (!this.#keys) return undefined;
    const now = Date.now();
    for (const expiresAtMs of connection.tokens.values()) if (expiresAtMs > now) return undefined;
    return {
      condition: amqpConditions.unauthorized,
      description: 'The connection has no valid token. Put one at $cbs before the link is attached.',
    };
  }
}

const accepted: ManagementReply = { status: 202, description: 'Accepted' };
