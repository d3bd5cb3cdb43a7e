import { defineError } from '@drover/contracts';

export const applicationUnreadable = defineError<{ directory: string; reason: string }>('APPLICATION_UNREADABLE', {
  fault: 'customer',
  retryable: false,
  status: 422,
  message: (d) => `The application in ${d.directory} cannot be read: ${d.reason}. Check the path and its permissions.`,
  help: 'The directory of the app is missing or not readable. Check the path and its permissions.',
});

export const applicationTooLarge = defineError<{ directory: string; limit: string }>('APPLICATION_TOO_LARGE', {
  fault: 'customer',
  retryable: false,
  status: 413,
  message: (d) =>
    `The application in ${d.directory} has more than ${d.limit}. Point at the app itself, without data and build caches.`,
  help: 'The directory has more files or bytes than an application may have. Point at the app itself, without data and build caches.',
});

export const applicationErrors = { applicationUnreadable, applicationTooLarge };
