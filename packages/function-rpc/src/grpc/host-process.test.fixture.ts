import { FunctionRpcServer } from '../server/function-rpc-server.js';

/** A host in a process of its own, to be killed: prints its address and lets everybody in. */
const server = new FunctionRpcServer({
  onStream: (stream) => stream.start({ onMessage: () => undefined, onEnd: () => undefined }),
});
const { port } = await server.listenLoopback();
process.stdout.write(`http://127.0.0.1:${port}\n`);
