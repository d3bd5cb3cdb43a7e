const http2 = require('node:http2');
const { app } = require('@azure/functions');
const { ResourceFactoryResolver } = require('@azure/functions-extensions-base');
const rhea = require('rhea');

const uri = process.argv[process.argv.indexOf('--functions-uri') + 1];

/** Encodes one field of a protobuf message: text or bytes under a number below 16. */
function field(number, value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/** Calls a method of the Settlement service over gRPC. Resolves with the response, or rejects with the status. */
function settle(method, ...fields) {
  return new Promise((resolve, reject) => {
    const session = http2.connect(new URL(uri).origin);
    session.on('error', reject);
    const call = session.request({
      ':method': 'POST',
      ':path': `/Settlement/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks = [];
    let status;
    const readStatus = (headers) => (status = headers['grpc-status'] ?? status);
    call.on('response', readStatus);
    call.on('trailers', readStatus);
    call.on('data', (chunk) => chunks.push(chunk));
    call.on('close', () => {
      session.close();
      if (status === '0') resolve(Buffer.concat(chunks).subarray(5));
      else reject(new Error(`${method}: gRPC status ${status}`));
    });
    const request = Buffer.concat(fields);
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(request.length, 1);
    call.end(Buffer.concat([frame, request]));
  });
}

/** Reads a message as `@azure/functions-extensions-servicebus` does. */
const resolver = ResourceFactoryResolver.getInstance();
resolver.registerResourceFactory('AzureServiceBusReceivedMessage', (model) => {
  const read = ({ content }) => {
    const at = content.indexOf('x-opt-lock-token');
    const hex = (...places) => places.map((place) => content.toString('hex', place, place + 1)).join('');
    const lockToken = [hex(3, 2, 1, 0), hex(5, 4), hex(7, 6), hex(8, 9), hex(10, 11, 12, 13, 14, 15)].join('-');
    const { body, message_id: messageId } = rhea.message.decode(content.subarray(at + 16));
    return { lockToken, body: String(body.content), messageId };
  };
  return Array.isArray(model) ? model.map(read) : read(model);
});

app.serviceBusQueue('settleOfSdk', {
  queueName: 'of-sdk',
  connection: 'ServiceBus',
  sdkBinding: true,
  autoCompleteMessages: false,
  handler: async ({ lockToken, body, messageId }, context) => {
    context.log(`read ${messageId} with ${body}`);
    await settle('Complete', field(1, lockToken));
    context.log(`completed ${messageId}`);
  },
});

app.serviceBusQueue('settleByHand', {
  queueName: 'by-hand',
  connection: 'ServiceBus',
  handler: async ({ action }, context) => {
    const { lockToken, deliveryCount } = context.triggerMetadata;
    const token = field(1, lockToken);
    context.log(`saw ${action} (delivery ${deliveryCount})`);
    if (action === 'abandon-once') await settle(deliveryCount > 1 ? 'Complete' : 'Abandon', token);
    else if (action === 'dead-letter')
      await settle('Deadletter', token, field(3, field(1, 'spoilt')), field(4, field(1, 'it smells')));
    else if (action === 'defer') await settle('Defer', token);
    else if (action === 'renew-and-complete') {
      await settle('RenewMessageLock', token);
      await settle('Complete', token);
    } else if (action === 'complete-twice') {
      await settle('Complete', token);
      await settle('Complete', token).catch((error) => context.log(`second: ${error.message}`));
    }
  },
});

app.serviceBusQueue('countInSession', {
  queueName: 'counted',
  connection: 'ServiceBus',
  isSessionsEnabled: true,
  handler: async (message, context) => {
    const { lockToken, sessionId } = context.triggerMetadata;
    const id = field(1, sessionId);
    const state = await settle('GetSessionState', id);
    const soFar = state.length > 0 ? state.subarray(2).toString() : '';
    const now = `${soFar}${String(message)}`;
    await settle('SetSessionState', id, field(2, now));
    context.log(`session ${sessionId}: ${now}`);
    await settle('Complete', field(1, lockToken));
  },
});
