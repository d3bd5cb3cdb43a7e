import type { Clock, Observation, Observe, Randomness } from '@drover/service-kit';
import type { CollectionRecords } from './collection-records.js';
import type { LockedMessages } from './locked-messages.js';
import type { ParkedTrigger } from './parked-trigger.js';
import type { SourceWakeups } from './source-wakeups.js';
import type { WarmNamespaces } from './amqp/warm-namespaces.js';
import type { TriggerStore } from './store/trigger-store.js';
import type { BindingModel, Deliver, OutputTarget, TriggerListener } from './trigger-source.js';
import type { NotificationEndpoints } from './watch/notification-endpoints.js';

/** The binding types of an extension in the spelling of Azure; apps write them in any case. */
export interface BindingTypes {
  readonly triggers: readonly string[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Outputs that take a JSON array as one value; for all others, each element is a message. */
  readonly wholeOutputs?: readonly string[];
}

/** A binding as its function declares it. Settings and expressions in its options are resolved. */
export interface BindingRequest {
  readonly functionName: string;
  readonly type: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A trigger whose options are valid. */
export interface PreparedTrigger {
  /** Keys of the binding that no component reads: probably misspelt. */
  readonly unknownKeys: readonly string[];
  /** First delay before a failed message is redelivered, doubled each time; 0 leaves the delay to the source. */
  readonly retryBackOffMs: number;
  /** Creates the listener. Throws if the connection is missing or invalid. */
  listen(deliver: Deliver): TriggerListener;
  /** Returns how work is noticed while there is no listener. Throws if the connection is missing or invalid. */
  park(): ParkedTrigger;
}

/** The value of an input binding, by its type in the protocol; undefined if there is none. */
export type InputValue =
  | { readonly string: string }
  | { readonly bytes: Uint8Array }
  | { readonly json: string }
  | { readonly modelBindingData: BindingModel }
  | undefined;

/** The triggers, inputs and outputs of one service for one application. Every method throws TRIGGER_OPTIONS_INVALID. */
export interface BindingExtension {
  prepare?(trigger: BindingRequest): PreparedTrigger;
  /** Reads an input before the function runs. */
  read?(input: BindingRequest, signal: AbortSignal): Promise<InputValue>;
  /** Returns the target of an output. Throws if its connection is missing or invalid. */
  target?(output: BindingRequest): OutputTarget;
  /** Serves the webhook address of this extension, for sources that push their events. */
  readonly webhook?: Webhook;
  /** Closes connections of outputs and inputs. Listeners close theirs. */
  close?(): Promise<void>;
}

/** The handler of `/runtime/webhooks/<name>?functionName=<function>`. The caller checks the key. */
export interface Webhook {
  /** Whether the extension has a trigger of this function, named in any case. */
  has(functionName: string): boolean;
  serve(functionName: string, request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>;
}

export interface WebhookRequest {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written as JSON. */
  readonly body?: unknown;
}

/** What an extension gets from the runtime: of host.json, the sections that its source reads. */
export interface ExtensionParts<Host, Observed extends Observation> {
  /** Name of the application, for the keys of its state. */
  readonly application: string;
  /** Settings of the application. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** `extensions` of host.json. */
  readonly host: Host;
  readonly cores: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<Observed>;
  /** Shared by all extensions of the process: outputs wake listeners. */
  readonly wakeups: SourceWakeups;
  /** Messages that functions may settle themselves. */
  readonly lockedMessages: LockedMessages;
  readonly store: TriggerStore;
  /** The collections of the tenant; undefined: this runtime has no database. */
  readonly records?: CollectionRecords | undefined;
  /** Connections that were opened ahead for listeners; undefined: each listener connects when it starts. */
  readonly warmNamespaces?: WarmNamespaces;
  /** Connections to emulators that tell about work; undefined: listeners poll. */
  readonly notificationEndpoints?: NotificationEndpoints;
}

export interface BindingExtensionFactory<Host, Observed extends Observation> {
  readonly types: BindingTypes;
  /** Name in the webhook address, and of the system key: `<name>_extension`. */
  readonly webhookName?: string;
  /** Whether a trigger has an address of this webhook; undefined: all of them have. */
  readonly isPushed?: (options: BindingRequest['options']) => boolean;
  create(parts: ExtensionParts<Host, Observed>): BindingExtension;
}
