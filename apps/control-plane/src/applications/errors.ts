import { defineError } from '@drover/contracts';

export const applicationRefused = defineError<{ applicationId: string; problems: readonly string[] }>(
  'APPLICATION_REFUSED',
  {
    fault: 'customer',
    retryable: false,
    status: 422,
    message: (d) =>
      `The application ${d.applicationId} was not deployed: ${d.problems.join('; ')}. Correct the app and deploy it again.`,
    help: 'The app cannot run as it is: no functions, two functions of one name, a file that throws when it is loaded, a trigger whose connection is not set, or an error in `host.json`. Nothing was changed; the version that runs goes on.',
  },
);

export const applicationNotIndexed = defineError<{ applicationId: string; reason: string }>('APPLICATION_NOT_INDEXED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The functions of ${d.applicationId} cannot be read just now: ${d.reason}. Nothing was deployed. Try again.`,
  help: 'A runtime reads the functions of an app before it is deployed, and none answers. Check that a runtime runs, then try again.',
});

export const applicationFolderUnusable = defineError<{ directory: string; problem: string }>(
  'APPLICATION_FOLDER_UNUSABLE',
  {
    fault: 'caller',
    retryable: false,
    status: 422,
    message: (d) => `The folder ${d.directory} cannot be deployed: ${d.problem}.`,
    help: 'Name the folder of a function app on the machine of the platform, without data and build caches.',
  },
);

export const uploadsOff = defineError('APPLICATION_UPLOADS_OFF', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: () => 'This platform takes no uploads. Set DROVER_PAYLOAD_DIR to a directory for them and restart.',
  help: 'Set `DROVER_PAYLOAD_DIR`. `drover up` sets it to a folder of its data directory.',
});

export const uploadsBusy = defineError<{ most: number }>('APPLICATION_UPLOADS_BUSY', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) => `${d.most} uploads are being received already. Try again shortly.`,
  help: 'Uploads are unpacked and checked, which takes disk and CPU: only a few run at a time. Try again shortly.',
});

export const deploymentErrors = {
  applicationRefused,
  applicationNotIndexed,
  applicationFolderUnusable,
  uploadsOff,
  uploadsBusy,
};
