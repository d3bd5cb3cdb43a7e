import { FunctionRpcServer } from '../server/function-rpc-server.js';

/** A host in its own process, to be killed by the test: prints its address and accepts every worker. */
const server = new FunctionRpcServer({
  onStream: (stream) => stream.start({ onMessage: () => undefined, onEnd: () => undefined }),
});
const { port } = await server.listenLoopback();
process.stdout.write(`http://127.0.0.1:${port}\n`);
