import type { InstanceChannel } from '../local/instance-channel.js';

/** The two ends of a channel in memory. Messages arrive later and as JSON, as between processes. */
export interface ChannelPair {
  readonly host: InstanceChannel;
  readonly client: InstanceChannel;
  /** Ends both as kill -9 of the client does: what is on its way is lost. */
  readonly cut: () => void;
}

export function channelPair(): ChannelPair {
  let isOpen = true;
  const ends = { host: new MemoryEnd(), client: new MemoryEnd() };
  const channel = (own: MemoryEnd, other: MemoryEnd): InstanceChannel => ({
    send(message) {
      if (!isOpen) throw new Error('the channel is closed');
      const text = JSON.stringify(message);
      setImmediate(() => {
        if (isOpen) for (const listener of other.messages) listener(JSON.parse(text));
      });
    },
    onMessage(listener) {
      own.messages.add(listener);
      return () => void own.messages.delete(listener);
    },
    onClose(listener) {
      own.closings.add(listener);
      return () => void own.closings.delete(listener);
    },
  });
  return {
    host: channel(ends.host, ends.client),
    client: channel(ends.client, ends.host),
    cut: () => {
      isOpen = false;
      for (const end of [ends.host, ends.client]) for (const listener of end.closings) listener();
    },
  };
}

class MemoryEnd {
  readonly messages = new Set<(message: unknown) => void>();
  readonly closings = new Set<() => void>();
}
