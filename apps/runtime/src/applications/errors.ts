import { defineError } from '@drover/contracts';

export const applicationUnreadable = defineError<{ directory: string; reason: string }>('APPLICATION_UNREADABLE', {
  fault: 'customer',
  retryable: false,
  status: 422,
  message: (d) => `the application in ${d.directory} cannot be read: ${d.reason}`,
  help: 'The directory of the app is missing or may not be read: check the path and its permissions.',
});

export const applicationTooLarge = defineError<{ directory: string; limit: string }>('APPLICATION_TOO_LARGE', {
  fault: 'customer',
  retryable: false,
  status: 413,
  message: (d) => `the application in ${d.directory} has more than ${d.limit}; is this the right directory?`,
  help: 'More files or bytes than an application may have: point at the app itself, and leave data and build caches out of it.',
});

export const applicationErrors = { applicationUnreadable, applicationTooLarge };
