const { app, output } = require('@azure/functions');

const orders = output.storageQueue({ queueName: 'orders', connection: 'AzureWebJobsStorage' });
const receipts = output.storageQueue({ queueName: 'receipts', connection: 'AzureWebJobsStorage' });

// Puts an order into the queue that the function below takes it from.
app.http('order', {
  methods: ['POST'],
  authLevel: 'anonymous',
  extraOutputs: [orders],
  handler: async (request, context) => {
    const order = await request.json();
    context.extraOutputs.set(orders, order);
    return { status: 202, jsonBody: { accepted: order.id } };
  },
});

app.storageQueue('takeOrder', {
  queueName: 'orders',
  connection: 'AzureWebJobsStorage',
  return: receipts,
  handler: (order, context) => {
    context.log('order %s, seen %s times', order.id, context.triggerMetadata.dequeueCount);
    // No second try will help: such a message goes to orders-poison at once.
    if (!(order.amount > 0)) throw new Error(`DROVER_REJECT: order ${order.id} asks for nothing`);
    // One may: the message comes back, and goes to orders-poison when it has failed five times.
    if (order.price === undefined) throw new Error(`the price for order ${order.id} is not known yet`);
    return { receiptFor: order.id, total: order.amount * order.price };
  },
});
