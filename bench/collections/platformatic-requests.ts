import { sequenceMark } from '../functions-api/load/request.js';
import type { LineRequest } from './lines.js';
import { customerCount, spreadIdOf, type Order } from './orders.js';

const fields = 'id number status total placedAt note version createdAt updatedAt';

/** As its REST API takes it: every column that may not be null, defaults or not. */
export function platformaticOrder({ customer, ...order }: Order) {
  return { ...order, customerId: customer, version: 1 };
}

/** What its REST API cannot do in one request, or not without all columns: relations, changes of some columns, several records. */
export const graphqlLines = {
  listWithCustomers: graphql(
    `query { peerOrders(limit: 25, orderBy: [{ field: placedAt, direction: DESC }], where: { customerId: { eq: "${spreadIdOf('customers')}" } })
      { ${fields} customer { id name email country } } }`,
    customerCount,
  ),
  patch: (records: number): LineRequest =>
    graphql(
      `mutation { savePeerOrder(input: { id: "${spreadIdOf('orders')}", status: "paid", note: "changed by ${sequenceMark}" }) { ${fields} } }`,
      records,
    ),
  createMany: (orders: readonly Order[]): LineRequest =>
    graphql(
      `mutation($inputs: [PeerOrderInput]!) { insertPeerOrders(inputs: $inputs) { ${fields} } }`,
      customerCount,
      // Numbers with more digits than a double has are text in GraphQL.
      { inputs: orders.map((order) => ({ ...platformaticOrder(order), total: String(order.total), version: '1' })) },
    ),
};

function graphql(query: string, spreadBelow: number, variables?: object): LineRequest {
  const body = JSON.stringify({ query: query.replaceAll(/\s+/g, ' '), variables });
  return { method: 'POST', path: '/graphql', body, spreadBelow, expectedStatus: 200 };
}
