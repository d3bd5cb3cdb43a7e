import { connect } from 'node:net';
import type pg from 'pg';

/**
 * Connections of a pool that statements of one caller use. When the caller has left, `cancel` ends the statements that run and
 * refuses further ones; a connection goes back to the pool after PostgreSQL has dealt with its cancellation, which would otherwise hit
 * the next statement.
 */
export class CallerClients {
  readonly #pool: pg.Pool;
  readonly #cancellations = new Map<pg.PoolClient, Promise<void> | undefined>();
  #hasLeft = false;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async connect(): Promise<pg.PoolClient> {
    this.#requireCaller();
    const client = await this.#pool.connect();
    if (this.#hasLeft) client.release();
    this.#requireCaller();
    this.#cancellations.set(client, undefined);
    return client;
  }

  /** Returns a connection to the pool, or closes it if it is broken. */
  release(client: pg.PoolClient, broken: Error | undefined): void {
    const cancellation = this.#cancellations.get(client);
    this.#cancellations.delete(client);
    if (cancellation === undefined) client.release(broken);
    else void cancellation.then(() => client.release(broken));
  }

  cancel(): void {
    this.#hasLeft = true;
    for (const client of this.#cancellations.keys()) this.#cancellations.set(client, sendCancelRequest(client));
  }

  #requireCaller(): void {
    if (this.#hasLeft) throw new Error('The caller has left: its statements do not run any more.');
  }
}

/** What the driver knows of a connection and its types do not name. */
interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const cancelRequestCode = 80_877_102;

/**
 * Asks PostgreSQL over a connection of its own to cancel the statement of a client. Resolves when the server has closed that connection,
 * which it does after the signal was sent; also if it cannot be reached, because the statement then has its own limit.
 */
function sendCancelRequest(client: pg.PoolClient): Promise<void> {
  const { host, port } = client;
  const { processID, secretKey } = client as unknown as BackendKey; // set by the driver when it connects
  const packet = Buffer.alloc(16);
  packet.writeInt32BE(16, 0);
  packet.writeInt32BE(cancelRequestCode, 4);
  packet.writeInt32BE(processID, 8);
  packet.writeInt32BE(secretKey, 12);
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
    socket.once('connect', () => socket.write(packet));
    socket.on('error', () => undefined); // followed by close
    socket.once('close', () => resolve());
    socket.resume();
  });
}

const cancelTimeoutMs = 5_000;
