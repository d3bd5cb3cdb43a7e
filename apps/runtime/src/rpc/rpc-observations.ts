import { count, type Readers } from '@drover/service-kit';

export type RpcObservation =
  | { readonly kind: 'rpc.listening'; readonly listener: 'loopback' | 'tls'; readonly address: string }
  | { readonly kind: 'rpc.refused'; readonly address: string; readonly reason: string };

export const rpcReaders: Readers<RpcObservation> = {
  'rpc.listening': {
    level: 'info',
    isInternal: true,
    say: (o) => `listening for function workers on ${o.address} (${o.listener})`,
  },
  'rpc.refused': {
    level: 'warn',
    say: (o) => `refused a FunctionRpc stream from ${o.address}: ${o.reason}`,
    metrics: [count('drover_runtime_streams_refused_total', 'FunctionRpc streams that were refused')],
  },
};
