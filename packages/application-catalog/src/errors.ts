import { defineError } from '@drover/contracts';

export const applicationUnknown = defineError<{ applicationId: string }>('APPLICATION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `Your tenant has no application ${d.applicationId}. List the applications with "drover apps".`,
  help: 'List the applications with `drover apps` or `GET /v1/apps`.',
});

export const applicationVersionUnknown = defineError<{
  applicationId: string;
  version: string;
  known: readonly string[];
}>('APPLICATION_VERSION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `The application ${d.applicationId} has no version ${d.version}. Use one of its versions: ${d.known.join(', ') || 'none is deployed'}.`,
  help: 'List the versions with `GET /v1/apps/{app}`. Old versions without traffic are removed when new ones are deployed.',
});

export const applicationVersionInUse = defineError<{ applicationId: string; version: string; percent: number }>(
  'APPLICATION_VERSION_IN_USE',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `The version ${d.version} of ${d.applicationId} has ${d.percent} % of the traffic. Promote another version first.`,
    help: 'A version can be removed when it has no traffic: promote another version first.',
  },
);

export const applicationTrafficInvalid = defineError<{ applicationId: string; problem: string }>(
  'APPLICATION_TRAFFIC_INVALID',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) => `The traffic of ${d.applicationId} was not changed: ${d.problem}`,
    help: 'Percentages are whole numbers that add up to 100. Only versions with the same triggers and bindings can split traffic.',
  },
);

export const applicationNoRollback = defineError<{ applicationId: string; problem: string }>(
  'APPLICATION_NO_ROLLBACK',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) => `The application ${d.applicationId} was not rolled back: ${d.problem}`,
    help: 'No earlier version is left to return to. Deploy one, or name a version in the request.',
  },
);

export const applicationDeleting = defineError<{ applicationId: string }>('APPLICATION_DELETING', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `The application ${d.applicationId} is being removed and finishes its last calls. Try again when "drover apps" does not list it any more.`,
  help: 'Wait until the application is gone, then deploy it again.',
});

export const applicationPayloadUnknown = defineError<{ digest: string }>('APPLICATION_PAYLOAD_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `Your tenant has no payload ${d.digest}. Upload it with POST /v1/apps/{app}/payloads, then deploy it within a day.`,
  help: 'Upload the zip first. A payload that no version uses is removed after a day.',
});

export const applicationPayloadInvalid = defineError<{ problem: string }>('APPLICATION_PAYLOAD_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 422,
  message: (d) => `The zip was refused: ${d.problem}`,
  help: 'The zip is damaged, or contains an entry that could write outside of its folder, a link, or a name that is not portable. Pack the folder of the app again.',
});

export const applicationPayloadTooLarge = defineError<{ what: string; limit: number; unit: string; variable: string }>(
  'APPLICATION_PAYLOAD_TOO_LARGE',
  {
    fault: 'caller',
    retryable: false,
    status: 413,
    message: (d) =>
      `The ${d.what} has more than ${d.limit} ${d.unit}. Deploy the app without data and build caches, or raise ${d.variable}.`,
    help: 'Deploy the app without data and build caches, or raise the limit that the message names.',
  },
);

export const applicationPayloadStoreFailed = defineError<{ directory: string; reason: string }>(
  'APPLICATION_PAYLOAD_STORE_FAILED',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) =>
      `The payload store in ${d.directory} cannot be used: ${d.reason}. Check its permissions and free space, then try again.`,
    help: 'Check permissions and free space of `DROVER_PAYLOAD_DIR`.',
  },
);

// The operator has to act, but only the caller sees the refusal: so the message names the missing setting.
export const applicationSettingsNeedKey = defineError<{ applicationId: string }>('APPLICATION_SETTINGS_NEED_KEY', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `The application ${d.applicationId} has settings, which are stored encrypted, but no encryption key is configured. Set DROVER_SECRETS_KEY and restart, or deploy it without settings.`,
  help: 'Set `DROVER_SECRETS_KEY` on every replica, or deploy the application without settings.',
});

export const applicationSettingsUnreadable = defineError<{ applicationId: string; version: string; reason: string }>(
  'APPLICATION_SETTINGS_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `The settings of ${d.applicationId} in version ${d.version} cannot be decrypted: ${d.reason}. Restore the key, or deploy the application again.`,
    help: 'Give every process the `DROVER_SECRETS_KEY` that the application was deployed with, or deploy it again with its settings.',
  },
);

export const applicationCatalogErrors = {
  applicationUnknown,
  applicationVersionUnknown,
  applicationVersionInUse,
  applicationTrafficInvalid,
  applicationNoRollback,
  applicationDeleting,
  applicationPayloadUnknown,
  applicationPayloadInvalid,
  applicationPayloadTooLarge,
  applicationPayloadStoreFailed,
  applicationSettingsNeedKey,
  applicationSettingsUnreadable,
};
