import { sequenceMark, type RequestSpec } from '../functions-api/load/request.js';
import { customerCount, orderOf, spreadIdOf } from './orders.js';

/** One line of the table: the same work, as each kind of server is asked for it. */
export interface Line {
  readonly name: string;
  readonly expectedStatus: { readonly collection: number; readonly peer: number };
  readonly collection: Omit<RequestSpec, 'headers'>;
  readonly peer: Omit<RequestSpec, 'headers'>;
}

const get = (path: string, spreadBelow?: number): Omit<RequestSpec, 'headers'> => ({
  method: 'GET',
  path,
  body: '',
  ...(spreadBelow !== undefined && { spreadBelow }),
});

/** `mark` tells orders of servers and lines apart, whose numbers are unique. */
const newOrder = (mark: string) => ({ ...orderOf(17, `${mark}-${sequenceMark}`), customer: spreadIdOf('customers') });

/** The newest orders of a customer; another one each time. */
const list = `/api/orders?filter[customer][eq]=${spreadIdOf('customers')}&sort=-placedAt&page[size]=25`;
const peerList = `customer=${spreadIdOf('customers')}&limit=25`;
const ten = Array.from({ length: 10 }, (_, n) => n);

/** `records`: how many orders there are. */
export function lines(records: number): Line[] {
  const ok = { collection: 200, peer: 200 };
  const change = JSON.stringify({ status: 'paid', note: `changed by ${sequenceMark}` });
  const patch = { method: 'PATCH', body: change, spreadBelow: records };
  const post = { method: 'POST', spreadBelow: customerCount };
  const { customer, ...attributes } = newOrder('O');
  const relationships = { customer: { data: { type: 'customers', id: customer } } };
  const add = { op: 'add', data: { type: 'orders', attributes, relationships } };
  return [
    {
      name: 'get by id',
      expectedStatus: ok,
      collection: get(`/api/orders/${spreadIdOf('orders')}`, records),
      peer: get(`/orders/${spreadIdOf('orders')}`, records),
    },
    {
      name: 'filtered and sorted list of 25',
      expectedStatus: ok,
      collection: get(list, customerCount),
      peer: get(`/orders?${peerList}`, customerCount),
    },
    {
      name: 'list of 25 with include',
      expectedStatus: ok,
      collection: get(`${list}&include=customer`, customerCount),
      peer: get(`/orders-with-customers?${peerList}`, customerCount),
    },
    {
      name: 'create',
      expectedStatus: { collection: 201, peer: 201 },
      collection: { ...post, path: '/api/orders', body: JSON.stringify(newOrder('C')) },
      peer: { ...post, path: '/orders', body: JSON.stringify(newOrder('C')) },
    },
    {
      name: 'patch',
      expectedStatus: ok,
      collection: { ...patch, path: `/api/orders/${spreadIdOf('orders')}` },
      peer: { ...patch, path: `/orders/${spreadIdOf('orders')}` },
    },
    {
      name: 'atomic of 10',
      expectedStatus: ok,
      collection: {
        ...post,
        path: '/api/operations',
        body: JSON.stringify({ 'atomic:operations': ten.map(() => add) }),
      },
      peer: { ...post, path: '/operations', body: JSON.stringify(ten.map(() => newOrder('O'))) },
    },
  ];
}
