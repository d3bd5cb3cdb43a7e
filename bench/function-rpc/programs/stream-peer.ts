import { connectEventStream } from '@drover/function-rpc';
import { serveRequests } from '../../harness/program.js';
import { responseTo } from '../messages.js';
import type { EchoPeerRequest } from './serve-load.js';

serveRequests<EchoPeerRequest>(async ({ port }) => {
  const stream = await connectEventStream({ url: `http://127.0.0.1:${port}` });
  stream.start({
    onMessage({ kind, requestId, value }) {
      if (kind === 'invocationRequest')
        stream.send({ kind: 'invocationResponse', requestId, value: responseTo(value.invocationId) });
    },
    onEnd: () => undefined,
  });
  stream.send({ kind: 'startStream', value: { workerId: 'peer' } });
  return process.pid;
});
