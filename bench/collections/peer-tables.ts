import pg from 'pg';
import { customerCount, customerOf, idOf, orderOf } from './orders.js';

const tables = `
  create schema peer;
  create table peer.customers (id uuid primary key, name text not null, email text not null, country text);
  create table peer.orders (
    id uuid primary key default gen_random_uuid(),
    number text not null unique,
    customer_id uuid not null references peer.customers,
    status text not null,
    total numeric(18,2) not null,
    placed_at timestamptz not null,
    note text,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  );
  create index on peer.orders (customer_id, placed_at desc, id)`;

const blockSize = 10_000;

/** Makes the tables of the peers, with the same records and indexes as the collections have. */
export async function makePeerTables(url: string, records: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(tables);
    await insert(client, 'customers', customerCount, (n) => ({ id: idOf('customers', n), ...customerOf(n) }));
    await insert(client, 'orders', records, (n) => {
      const { customer, placedAt, ...order } = orderOf(n);
      return { id: idOf('orders', n), ...order, customer_id: customer, placed_at: placedAt, version: 1 };
    });
    await client.query('analyze peer.orders');
  } finally {
    await client.end();
  }
}

async function insert(client: pg.Client, table: string, count: number, row: (n: number) => object): Promise<void> {
  for (let first = 0; first < count; first += blockSize) {
    const rows = Array.from({ length: Math.min(blockSize, count - first) }, (_, index) => row(first + index));
    const columns = Object.keys(rows[0] ?? {}).join(', ');
    await client.query(
      `insert into peer.${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::peer.${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }
}
