const { app, input, output } = require('@azure/functions');

const packing = output.storageQueue({ queueName: 'packing', connection: 'AzureWebJobsStorage' });
const order = input.generic({ type: 'collection', collection: 'orders', id: '{orderId}' });
const orders = output.generic({ type: 'collection', collection: 'orders', operation: 'update' });
// A change may be delivered more than once, so a shipment is found by its order instead of created again.
const shipments = output.generic({ type: 'collection', collection: 'shipments', operation: 'upsert', key: 'order' });

// Runs for every new order, created by a client of the API, an import or another function.
app.generic('onOrder', {
  trigger: { type: 'collectionTrigger', name: 'change', collection: 'orders', events: 'created' },
  return: packing,
  handler: (change) => ({ orderId: change.id, number: change.after.number }),
});

// Reads the order as it is now: it may have been cancelled while the message waited.
app.storageQueue('pack', {
  queueName: 'packing',
  connection: 'AzureWebJobsStorage',
  extraInputs: [order],
  return: orders,
  handler: (message, context) => {
    const current = context.extraInputs.get(order);
    if (!current || current.status !== 'new') return undefined;
    context.log('packing order %s of %s', current.number, current.customer);
    return { id: current.id, status: 'packed' };
  },
});

// Sees the order before and after each change.
app.generic('onPacked', {
  trigger: { type: 'collectionTrigger', name: 'change', collection: 'orders', events: 'updated' },
  return: shipments,
  handler: ({ before, after }) => {
    if (before.status === after.status || after.status !== 'packed') return undefined;
    return { order: after.number, customer: after.customer, parcels: Math.ceil(after.amount / 10) };
  },
});
