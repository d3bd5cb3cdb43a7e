import { instanceHostLost } from '../errors.js';
import type { Instance, InstanceEvent, InstanceProvider, InstanceSpec } from '../instance-provider.js';
import type { InstanceChannel } from './instance-channel.js';
import { fromSentError, isInstanceReport, type InstanceCallName, type InstanceReport } from './instance-messages.js';

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Instances on this machine that another process hosts: the client of a ProcessHost. The process of this client may be killed at
 * any moment; its instances run on, and the next client lists them. Calls without an answer fail with INSTANCE_HOST_LOST when the
 * host is gone.
 */
export class LocalProcessProvider implements InstanceProvider {
  readonly #channel: InstanceChannel;
  readonly #pending = new Map<number, PendingCall>();
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  #calls = 0;

  constructor(channel: InstanceChannel) {
    this.#channel = channel;
    channel.onMessage((message) => {
      if (isInstanceReport(message)) this.#receive(message);
    });
    channel.onClose(() => this.#lost());
  }

  async start(spec: InstanceSpec, token: number): Promise<void> {
    await this.#call('start', spec, token);
  }

  async end(instanceId: string, graceMs: number, token: number): Promise<void> {
    await this.#call('end', instanceId, graceMs, token);
  }

  async list(token?: number): Promise<readonly Instance[]> {
    // The host of this version sends what its own table lists.
    return (await this.#call('list', ...(token === undefined ? [] : [token]))) as readonly Instance[];
  }

  async forget(instanceId: string, token: number): Promise<void> {
    await this.#call('forget', instanceId, token);
  }

  subscribe(listener: (event: InstanceEvent) => void): () => void {
    const entry = (event: InstanceEvent): void => listener(event);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  #call(call: InstanceCallName, ...args: readonly unknown[]): Promise<unknown> {
    const callId = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(callId, { resolve, reject });
      try {
        this.#channel.send({ type: 'instances.call', callId, call, args });
      } catch (error) {
        this.#pending.delete(callId);
        reject(instanceHostLost({ reason: error instanceof Error ? error.message : String(error) }, error));
      }
    });
  }

  #receive(report: InstanceReport): void {
    if (report.type === 'instances.event') {
      for (const listener of this.#listeners) listener(report.event);
      return;
    }
    const pending = this.#pending.get(report.callId);
    this.#pending.delete(report.callId);
    if (report.error) pending?.reject(fromSentError(report.error));
    else pending?.resolve(report.value);
  }

  #lost(): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(instanceHostLost({ reason: 'its process has ended' }));
  }
}
