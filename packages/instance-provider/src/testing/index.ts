export { channelPair } from './channel-pair.js';
export type { ChannelPair } from './channel-pair.js';
export { FakeInstanceProvider } from './fake-instance-provider.js';
export type { FakeInstanceProviderOptions } from './fake-instance-provider.js';
export { instanceProviderContract } from './instance-provider-contract.js';
export type { ContractBehaviour, ProviderUnderTest } from './instance-provider-contract.js';
