import type { InstanceProvider, InstanceSpec } from '../instance-provider.js';
import type { InstanceChannel } from './instance-channel.js';
import { isInstanceCall, toSentError, type InstanceCall, type InstanceReport } from './instance-messages.js';

/**
 * Serves a provider to the client at the other end of a channel: answers its calls and sends it every change. Returns the function
 * that ends it; the instances stay.
 */
export function serveInstances(provider: InstanceProvider, channel: InstanceChannel): () => void {
  const send = (report: InstanceReport): void => {
    try {
      channel.send(report);
    } catch {
      // The client is gone: the next one lists the instances.
    }
  };
  const endings = [
    provider.subscribe((event) => send({ type: 'instances.event', event })),
    channel.onMessage((message) => {
      if (!isInstanceCall(message)) return;
      const { callId } = message;
      run(provider, message).then(
        (value) => send({ type: 'instances.answer', callId, value }),
        (error: unknown) => send({ type: 'instances.answer', callId, error: toSentError(error) }),
      );
    }),
  ];
  return () => {
    for (const end of endings) end();
  };
}

/** The arguments are those of the client in this package, and of the same version: `drover up` starts only its own programs. */
async function run(provider: InstanceProvider, { call, args }: InstanceCall): Promise<unknown> {
  switch (call) {
    case 'start':
      return provider.start(...(args as [InstanceSpec, number]));
    case 'end':
      return provider.end(...(args as [string, number, number]));
    case 'list':
      return provider.list(...(args as [number?]));
    case 'forget':
      return provider.forget(...(args as [string, number]));
  }
}
