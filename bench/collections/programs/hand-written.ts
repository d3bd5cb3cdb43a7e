import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import pg from 'pg';
import { serveRequests } from '../../harness/program.js';
import type { Listening } from '../../functions-api/programs/serve-http.js';

/** What the program is told. */
export interface HandWrittenRequest {
  readonly url: string;
  readonly poolSize: number;
}

interface OrderBody {
  readonly number: string;
  readonly customer: string;
  readonly status: string;
  readonly total: number;
  readonly placedAt: string;
  readonly note?: string;
}

interface OrderRow {
  readonly id: string;
  readonly number: string;
  readonly customer_id: string;
  readonly status: string;
  readonly total: string;
  readonly placed_at: Date;
  readonly note: string | null;
  readonly version: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

type OrderWithCustomer = OrderRow & { readonly name: string; readonly email: string; readonly country: string | null };

const columns = 'id, number, customer_id, status, total, placed_at, note, version, created_at, updated_at';
const insertOrder = `insert into peer.orders (id, number, customer_id, status, total, placed_at, note)
  values ($1, $2, $3, $4, $5, $6, $7) returning ${columns}`;

const orderProperties = {
  number: { type: 'string', maxLength: 40 },
  customer: { type: 'string', format: 'uuid' },
  status: { enum: ['open', 'paid', 'sent', 'returned', 'lost'] },
  total: { type: 'number', minimum: 0 },
  placedAt: { type: 'string', format: 'date-time' },
  note: { type: 'string', maxLength: 1_000 },
};
const newOrder = {
  type: 'object',
  required: ['number', 'customer', 'status', 'total', 'placedAt'],
  properties: orderProperties,
  additionalProperties: false,
};

/**
 * What one writes by hand for this one table: fastify, a pool, prepared statements, checked bodies. It knows no tenants, no keys and
 * no events, so it does less than a collection.
 */
serveRequests<HandWrittenRequest>(async ({ url, poolSize }): Promise<Listening> => {
  const pool = new pg.Pool({ connectionString: url, max: poolSize });
  const app = fastify();
  serveReads(app, pool);
  serveWrites(app, pool);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, pid: process.pid }; // it listens on TCP
});

function serveReads(app: FastifyInstance, pool: pg.Pool): void {
  app.get<{ Params: { readonly id: string } }>('/orders/:id', async ({ params: { id } }, reply) => {
    const text = `select ${columns} from peer.orders where id = $1`;
    const { rows } = await pool.query<OrderRow>({ name: 'get', text, values: [id] });
    return rows[0] ? toOrder(rows[0]) : reply.code(404).send({ error: 'not found' });
  });
  app.get<{ Querystring: { readonly customer: string; readonly limit: number } }>('/orders', async ({ query }) => {
    const text = `select ${columns} from peer.orders where customer_id = $1 order by placed_at desc, id limit $2`;
    const { rows } = await pool.query<OrderRow>({ name: 'list', text, values: [query.customer, query.limit] });
    return { data: rows.map(toOrder) };
  });
  app.get<{ Querystring: { readonly customer: string; readonly limit: number } }>(
    '/orders-with-customers',
    async ({ query }) => {
      const text = `select ${columns.replaceAll(/\w+/g, 'o.$&')}, c.name, c.email, c.country
        from peer.orders o join peer.customers c on c.id = o.customer_id
        where o.customer_id = $1 order by o.placed_at desc, o.id limit $2`;
      const values = [query.customer, query.limit];
      const { rows } = await pool.query<OrderWithCustomer>({ name: 'list-with-customers', text, values });
      return {
        data: rows.map((row) => ({
          ...toOrder(row),
          customer: { id: row.customer_id, name: row.name, email: row.email, country: row.country },
        })),
      };
    },
  );
}

function serveWrites(app: FastifyInstance, pool: pg.Pool): void {
  app.post<{ Body: OrderBody }>('/orders', { schema: { body: newOrder } }, async ({ body }, reply) => {
    const { rows } = await pool.query<OrderRow>({ name: 'create', text: insertOrder, values: toValues(body) });
    return reply.code(201).send(rows[0] && toOrder(rows[0]));
  });
  const changes = { type: 'object', properties: orderProperties, additionalProperties: false };
  app.patch<{ Params: { readonly id: string }; Body: Partial<OrderBody> }>(
    '/orders/:id',
    { schema: { body: changes } },
    async ({ params: { id }, body }, reply) => {
      const text = `update peer.orders set status = coalesce($2, status), note = coalesce($3, note), total = coalesce($4, total),
        version = version + 1, updated_at = now() where id = $1 returning ${columns}`;
      const values = [id, body.status, body.note, body.total];
      const { rows } = await pool.query<OrderRow>({ name: 'patch', text, values });
      return rows[0] ? toOrder(rows[0]) : reply.code(404).send({ error: 'not found' });
    },
  );
  const operations = { type: 'array', maxItems: 100, items: newOrder };
  app.post<{ Body: OrderBody[] }>('/operations', { schema: { body: operations } }, async ({ body }) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const created = [];
      for (const order of body) {
        const { rows } = await client.query<OrderRow>({ name: 'create', text: insertOrder, values: toValues(order) });
        created.push(rows[0] && toOrder(rows[0]));
      }
      await client.query('commit');
      return { data: created };
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  });
}

function toValues({ number, customer, status, total, placedAt, note }: OrderBody): unknown[] {
  return [randomUUID(), number, customer, status, total, placedAt, note];
}

function toOrder(row: OrderRow) {
  return {
    id: row.id,
    number: row.number,
    customer: row.customer_id,
    status: row.status,
    total: Number(row.total),
    placedAt: row.placed_at,
    note: row.note,
    version: Number(row.version),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
