import { count, type Readers } from '@drover/service-kit';

interface OfWebhook {
  readonly webhookId: string;
  readonly origin: string;
  readonly position: number;
  readonly attempts: number;
}

export type WebhookObservation =
  | (OfWebhook & { readonly kind: 'webhook.delivered' })
  | (OfWebhook & { readonly kind: 'webhook.postponed'; readonly problem: string; readonly delayMs: number })
  | (OfWebhook & { readonly kind: 'webhook.failed'; readonly problem: string })
  | { readonly kind: 'webhook.loop-failed'; readonly error: unknown };

export const webhookReaders: Readers<WebhookObservation> = {
  'webhook.delivered': {
    level: 'debug',
    say: (o) => `webhook ${o.webhookId} delivered the change ${o.position} to ${o.origin}`,
    metrics: [count('drover_webhooks_delivered_total', 'Changes of records that webhooks delivered')],
  },
  'webhook.postponed': {
    level: 'warn',
    say: (o) =>
      `webhook ${o.webhookId} could not deliver the change ${o.position} (attempt ${o.attempts}) and tries again in ${Math.round(o.delayMs / 1_000)} s: ${o.problem}`,
    metrics: [count('drover_webhooks_retried_total', 'Attempts of webhooks that failed and are repeated')],
  },
  'webhook.failed': {
    level: 'error',
    say: (o) => `webhook ${o.webhookId} gave up the change ${o.position} after ${o.attempts} attempts: ${o.problem}`,
    metrics: [count('drover_webhooks_failed_total', 'Changes of records that webhooks gave up')],
  },
  'webhook.loop-failed': {
    level: 'warn',
    say: (o) => `deliveries of webhooks cannot be read, and are read again: ${String(o.error)}`,
  },
};
