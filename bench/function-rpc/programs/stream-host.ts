import { FunctionRpcServer, type EventStream } from '@drover/function-rpc';
import { requestOf } from '../messages.js';
import { Calls, serveEchoHost } from './serve-load.js';

const calls = new Calls();
let stream: EventStream | undefined;
let arrive: () => void = () => undefined;
const connected = new Promise<void>((resolve) => (arrive = resolve));
const server = new FunctionRpcServer({
  onStream(opened) {
    stream = opened;
    opened.start({
      onMessage({ kind, value }) {
        if (kind === 'startStream') arrive();
        else if (kind === 'invocationResponse') calls.end(value.invocationId);
      },
      onEnd: () => undefined,
    });
  },
});

serveEchoHost({
  listen: async () => (await server.listenLoopback()).port,
  connected,
  call() {
    const { id, answered } = calls.begin();
    stream?.send({ kind: 'invocationRequest', value: requestOf(id) });
    return answered;
  },
});
