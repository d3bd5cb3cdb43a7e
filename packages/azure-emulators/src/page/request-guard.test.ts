import { describe, expect, it } from 'vitest';
import { refusePageRequest, type GuardedRequest } from './request-guard.js';

const own: GuardedRequest = {
  method: 'POST',
  host: 'localhost:8080',
  origin: 'http://localhost:8080',
  site: 'same-origin',
  contentType: 'application/json',
};

describe('refusePageRequest', () => {
  it.each<[string, Partial<GuardedRequest>]>([
    ['of the page itself', {}],
    ['of a program, which sends no origin', { origin: undefined, site: undefined }],
    ['by address', { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' }],
    ['that a user types', { method: 'GET', origin: undefined, site: 'none', contentType: undefined }],
  ])('allows a request %s', (_, part) => {
    expect(refusePageRequest({ ...own, ...part }, 8080)).toBeUndefined();
  });

  it.each<[string, Partial<GuardedRequest>]>([
    ['for another name that points here', { host: 'attacker.example:8080', origin: undefined }],
    ['for another port', { host: 'localhost:9090' }],
    ['without a Host header', { host: undefined }],
    ['from another site', { origin: 'https://attacker.example' }],
    ['from another port of this machine', { origin: 'http://localhost:3000' }],
    ['from a sandboxed frame', { origin: 'null' }],
    ['that a browser marks as cross-site', { method: 'GET', origin: undefined, site: 'cross-site' }],
    ['that a form can send', { contentType: 'text/plain' }],
    ['without a content type', { origin: undefined, contentType: undefined }],
  ])('refuses a request %s', (_, part) => {
    expect(refusePageRequest({ ...own, ...part }, 8080)).toBeDefined();
  });
});
