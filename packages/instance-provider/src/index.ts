export type {
  Instance,
  InstanceEvent,
  InstanceProvider,
  InstanceRole,
  InstanceSpec,
  InstanceState,
} from './instance-provider.js';
