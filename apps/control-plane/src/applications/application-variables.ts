import path from 'node:path';
import { integer, oneOf, optionalText, text } from '@drover/service-kit';

export const applicationVariables = {
  applications: text('DROVER_FUNCTIONS_APPS', {
    default: '',
    about: `Folders of applications to deploy, separated by \`${path.delimiter}\`.`,
  }),
  functionsOnly: text('DROVER_FUNCTIONS_ONLY', {
    default: '',
    about:
      'Names of the only functions that run of the applications in these folders, separated by commas. Empty: all. Same as `drover up --functions`.',
  }),
  hotReload: oneOf('DROVER_HOT_RELOAD', ['on', 'off'], {
    default: 'off',
    about: 'Whether applications are redeployed when their files change.',
  }),
  payloadDirectory: optionalText('DROVER_PAYLOAD_DIR', {
    about:
      'Directory for the files of uploaded applications. Runtimes and their workers must see it at the same path. Without it, uploads are refused; `drover up` sets it.',
  }),
  payloadBytes: integer('DROVER_PAYLOAD_BYTES', {
    min: 1_024,
    max: 4_294_967_296,
    default: 268_435_456,
    about: 'Maximum size of an uploaded zip.',
  }),
  payloadUnpackedBytes: integer('DROVER_PAYLOAD_UNPACKED_BYTES', {
    min: 1_024,
    max: 17_179_869_184,
    default: 1_073_741_824,
    about: 'Maximum size of all files of an application together.',
  }),
  payloadFiles: integer('DROVER_PAYLOAD_FILES', {
    min: 1,
    max: 1_000_000,
    default: 50_000,
    about: 'Maximum number of files of an application.',
  }),
  applicationVersions: integer('DROVER_APP_VERSIONS', {
    min: 2,
    max: 100,
    default: 10,
    about: 'Versions that an application keeps for roll backs; older ones without traffic are removed.',
  }),
};
