import type { WebhookAnswer, WebhookRequest } from '../binding-extension.js';
import { headerOf } from './read-events.js';

/** Answers a request to a webhook that brings no events. Returns undefined for a POST request, whose body is read. */
export function answerHandshake(request: WebhookRequest): WebhookAnswer | undefined {
  if (request.method === 'POST') return undefined;
  if (request.method !== 'OPTIONS') return refuseEvents('is no POST request');
  return allowSender(request) ?? refuseEvents('has no webhook-request-origin header');
}

export function refuseEvents(problem: string): WebhookAnswer {
  return { status: 400, body: { error: `The request ${problem}.` } };
}

/** The handshake of CloudEvents: names the sender that may push, at any rate. */
function allowSender(request: WebhookRequest): WebhookAnswer | undefined {
  const origin = headerOf(request, 'webhook-request-origin');
  if (origin === undefined || origin === '') return undefined;
  return { status: 200, headers: { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*', allow: 'POST' } };
}
