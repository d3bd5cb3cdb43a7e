import { sequenceMark, type RequestSpec } from '../functions-api/load/request.js';
import { customerCount, orderOf, spreadIdOf } from './orders.js';
import { graphqlLines, platformaticOrder } from './platformatic-requests.js';
import type { ServerKind } from './servers.js';

/** One line of the table: the same work, as each kind of server is asked for it. */
export interface Line {
  readonly name: string;
  /** Those through the gateway or a proxy are those of the collection. */
  readonly requests: Readonly<Record<Exclude<ServerKind, 'gateway' | 'bareProxy'>, LineRequest>>;
}

export interface LineRequest extends Omit<RequestSpec, 'headers'> {
  readonly expectedStatus: number;
}

const get = (path: string, spreadBelow: number): LineRequest => ({
  method: 'GET',
  path,
  body: '',
  spreadBelow,
  expectedStatus: 200,
});

/** `mark` tells orders of servers and lines apart, whose numbers are unique. */
const newOrder = (mark: string) => ({ ...orderOf(17, `${mark}-${sequenceMark}`), customer: spreadIdOf('customers') });

/** The newest orders of a customer; another one each time. */
const list = `/api/orders?filter[customer][eq]=${spreadIdOf('customers')}&sort=-placedAt&page[size]=25`;
const peerList = `customer=${spreadIdOf('customers')}&limit=25`;
const ten = Array.from({ length: 10 }, (_, n) => n);

/** `records`: how many orders there are. */
export function lines(records: number): Line[] {
  return [...reads(records), ...writes(records)];
}

function reads(records: number): Line[] {
  return [
    {
      name: 'get by id',
      requests: {
        collection: get(`/api/orders/${spreadIdOf('orders')}`, records),
        handWritten: get(`/orders/${spreadIdOf('orders')}`, records),
        platformatic: get(`/peerOrders/${spreadIdOf('orders')}`, records),
      },
    },
    {
      name: 'filtered and sorted list of 25',
      requests: {
        collection: get(list, customerCount),
        handWritten: get(`/orders?${peerList}`, customerCount),
        platformatic: get(
          `/peerOrders?where.customerId.eq=${spreadIdOf('customers')}&orderby.placedAt=desc&limit=25`,
          customerCount,
        ),
      },
    },
    {
      name: 'list of 25 with include',
      requests: {
        collection: get(`${list}&include=customer`, customerCount),
        handWritten: get(`/orders-with-customers?${peerList}`, customerCount),
        platformatic: graphqlLines.listWithCustomers,
      },
    },
  ];
}

function writes(records: number): Line[] {
  const change = JSON.stringify({ status: 'paid', note: `changed by ${sequenceMark}` });
  const patch = { method: 'PATCH', body: change, spreadBelow: records, expectedStatus: 200 };
  const post = { method: 'POST', spreadBelow: customerCount };
  const created = { ...post, body: JSON.stringify(newOrder('C')), expectedStatus: 201 };
  const { customer, ...attributes } = newOrder('O');
  const relationships = { customer: { data: { type: 'customers', id: customer } } };
  const add = { op: 'add', data: { type: 'orders', attributes, relationships } };
  const atomic = (path: string, body: object): LineRequest => ({
    ...post,
    path,
    body: JSON.stringify(body),
    expectedStatus: 200,
  });
  return [
    {
      name: 'create',
      requests: {
        collection: { ...created, path: '/api/orders' },
        handWritten: { ...created, path: '/orders' },
        platformatic: {
          ...created,
          path: '/peerOrders/',
          body: JSON.stringify(platformaticOrder(newOrder('P'))),
          expectedStatus: 200,
        },
      },
    },
    {
      name: 'patch',
      requests: {
        collection: { ...patch, path: `/api/orders/${spreadIdOf('orders')}` },
        handWritten: { ...patch, path: `/orders/${spreadIdOf('orders')}` },
        platformatic: graphqlLines.patch(records),
      },
    },
    {
      name: 'atomic of 10',
      requests: {
        collection: atomic('/api/operations', { 'atomic:operations': ten.map(() => add) }),
        handWritten: atomic(
          '/operations',
          ten.map(() => newOrder('O')),
        ),
        platformatic: graphqlLines.createMany(ten.map(() => newOrder('Q'))),
      },
    },
  ];
}
