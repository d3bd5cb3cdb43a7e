import { defineError } from '@drover/contracts';

export const webhookNotFound = defineError<{ webhookId: string }>('WEBHOOK_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `Your tenant has no webhook ${d.webhookId}. List webhooks with GET /control/webhooks.`,
  help: 'The webhook does not exist, or belongs to another tenant or to a collection that your key does not cover.',
});

export const webhookDeliveryNotFound = defineError<{ webhookId: string; position: string }>(
  'WEBHOOK_DELIVERY_NOT_FOUND',
  {
    fault: 'caller',
    retryable: false,
    status: 404,
    message: (d) =>
      `The webhook ${d.webhookId} has no delivery of the change ${d.position}. List its deliveries with GET /control/webhooks/${d.webhookId}/deliveries.`,
    help: 'The delivery does not exist, or was removed: deliveries are kept for a week.',
  },
);

export const webhookNeedsKey = defineError('WEBHOOK_NEEDS_KEY', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: () =>
    'The secret of a webhook is stored encrypted, but no encryption key is configured. Set DROVER_SECRETS_KEY and restart.',
  help: 'Set `DROVER_SECRETS_KEY` on every replica of the control plane.',
});

export const webhookQuotaExceeded = defineError<{ limit: number }>('WEBHOOK_QUOTA_EXCEEDED', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `Your tenant has ${d.limit} webhooks, which is the limit. Remove one, or send several kinds of changes to one.`,
  help: 'Remove webhooks that are not needed any more.',
});

export const webhookErrors = { webhookNotFound, webhookDeliveryNotFound, webhookNeedsKey, webhookQuotaExceeded };
