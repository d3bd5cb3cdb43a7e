// A language worker that is not ours: the protocol and nothing of ours, with the usual gRPC library and its reflection.
// It behaves as the official Node worker does, or (FOREIGN_STYLE=plain) as one that has no capabilities at all, repeats no
// request ids and leaves it to the host to find functions.
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const isPlain = process.env.FOREIGN_STYLE === 'plain';
const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1];
const required = ['functions-uri', 'functions-worker-id', 'functions-request-id', 'functions-grpc-max-message-length'];
const missing = required.filter((name) => !process.argv.includes(`--${name}`));
if (missing.length > 0) {
  process.stderr.write(`missing arguments: ${missing.join(', ')}\n`);
  process.exit(1);
}

const proto = fileURLToPath(new URL('../../packages/function-rpc/proto/', import.meta.url));
const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (target.startsWith('/') ? target : `${proto}${target}`);
root.loadSync(`${proto}FunctionRpc.proto`, { keepCase: false });
const Message = root.lookupType('AzureFunctionsRpcMessages.StreamingMessage');

const say = (text) => process.stdout.write(`LanguageWorkerConsoleLog${text}\n`);
const client = new Client(new URL(option('functions-uri')).host, credentials.createInsecure(), {
  'grpc.max_send_message_length': Number(option('functions-grpc-max-message-length')),
  'grpc.max_receive_message_length': Number(option('functions-grpc-max-message-length')),
});
const stream = client.makeBidiStreamRequest(
  '/AzureFunctionsRpcMessages.FunctionRpc/EventStream',
  (message) => Buffer.from(Message.encode(message).finish()),
  (bytes) => Message.decode(bytes),
);
const send = (requestId, content) => stream.write(Message.create({ ...(!isPlain && { requestId }), ...content }));
const success = { status: 1 };

stream.on('data', (message) => {
  const answer = answers[message.content]?.(message[message.content]);
  if (answer) send(message.requestId, answer);
});
stream.on('end', () => process.exit(0));
stream.on('error', (error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
stream.write(
  Message.create({
    requestId: option('functions-request-id'),
    startStream: { workerId: option('functions-worker-id') },
  }),
);

const order = [];
const capabilities = isPlain
  ? {}
  : {
      RawHttpBodyBytes: 'true',
      RpcHttpBodyOnly: 'true',
      RpcHttpTriggerMetadataRemoved: 'true',
      UseNullableValueDictionaryForHttp: 'true',
      IgnoreEmptyValuedRpcHttpHeaders: 'true',
      TypedDataCollection: 'true',
      WorkerStatus: 'true',
      HandlesWorkerTerminateMessage: 'true',
    };
const answers = {
  workerInitRequest({ functionAppDirectory, hostVersion }) {
    order.push('init');
    say(`initialized for ${functionAppDirectory} by host ${hostVersion}`);
    return { workerInitResponse: { capabilities, result: success, workerVersion: '0' } };
  },
  // As the official Node worker: all variables are replaced, the directory becomes the current one, and so do the capabilities.
  functionEnvironmentReloadRequest({ environmentVariables, functionAppDirectory }) {
    order.push('reload');
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, environmentVariables);
    try {
      process.chdir(functionAppDirectory);
    } catch (error) {
      return { functionEnvironmentReloadResponse: { result: { status: 0, exception: { message: error.message } } } };
    }
    const replace = 1;
    return {
      functionEnvironmentReloadResponse: { result: success, capabilities, capabilitiesUpdateStrategy: replace },
    };
  },
  functionsMetadataRequest() {
    order.push('metadata');
    if (isPlain) return { functionMetadataResponse: { useDefaultMetadataIndexing: true, result: success } };
    const trigger = {
      name: 'httpTrigger1',
      type: 'httpTrigger',
      direction: 'in',
      authLevel: 'anonymous',
      route: 'answer/{name}',
    };
    return {
      functionMetadataResponse: {
        result: success,
        functionMetadataResults: [
          {
            functionId: 'answer',
            name: 'answer',
            scriptFile: 'answer.js',
            bindings: { httpTrigger1: { type: 'httpTrigger', direction: 0 }, $return: { type: 'http', direction: 1 } },
            rawBindings: [trigger, { name: '$return', type: 'http', direction: 'out' }].map((one) =>
              JSON.stringify(one),
            ),
          },
        ],
      },
    };
  },
  functionLoadRequest({ functionId, metadata }) {
    order.push(`load ${metadata.name}`);
    loaded.set(functionId, metadata);
    return { functionLoadResponse: { functionId, result: success } };
  },
  invocationRequest({ invocationId, functionId, inputData, traceContext, triggerMetadata }) {
    const metadata = loaded.get(functionId);
    if (!isPlain) {
      const log = {
        level: 1,
        logCategory: 1,
        invocationId,
        category: 'Worker',
        message: 'received FunctionInvocationRequest',
      };
      stream.write(Message.create({ rpcLog: log }));
    }
    const user = {
      level: 2,
      logCategory: 0,
      invocationId,
      category: `${metadata.name}.Invocation`,
      message: 'the foreigner works',
    };
    stream.write(Message.create({ rpcLog: user }));
    const { http } = inputData[0].data;
    if (!http) {
      const seen = { order, directory: process.cwd(), environment: { ...process.env } };
      return { invocationResponse: { invocationId, result: success, returnValue: { json: JSON.stringify(seen) } } };
    }
    const seen = {
      order,
      name: metadata.name,
      script: metadata.scriptFile,
      input: inputData[0].name,
      method: http.method,
      url: http.url,
      plain: { params: http.params, query: http.query, agent: http.headers['user-agent'] },
      nullable: {
        params: textsOf(http.nullableParams),
        query: textsOf(http.nullableQuery),
        agent: http.nullableHeaders['user-agent']?.value,
      },
      body: http.body && [http.body.data, String(http.body[http.body.data])],
      rawBody: http.rawBody && [http.rawBody.data, String(http.rawBody[http.rawBody.data])],
      trace: traceContext?.traceParent,
      metadata: Object.keys(triggerMetadata),
    };
    const body = { bytes: Buffer.from(JSON.stringify(seen)) };
    const answer = { http: { statusCode: '201', headers: { 'content-type': 'application/json' }, body } };
    return { invocationResponse: { invocationId, result: success, returnValue: answer } };
  },
  workerStatusRequest: () => (isPlain ? undefined : { workerStatusResponse: {} }),
  workerTerminate() {
    say('told to end');
    stream.end();
    process.exit(0);
  },
};
const loaded = new Map();

function textsOf(values) {
  return Object.fromEntries(Object.entries(values).map(([name, { value }]) => [name, value]));
}
