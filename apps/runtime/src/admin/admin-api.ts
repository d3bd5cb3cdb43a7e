import { mayAdminister } from './admin-access.js';
import { notFound, writeKeys, type AdminCall } from './admin-call.js';
import { serveAdminFunctions } from './admin-functions.js';
import type { AdminHost } from '../routes/admin-host.js';
import { functionKeyRequired } from '../exchanges/errors.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { decodeSegment } from '../routes/request-target.js';
import { writeAnswer, writeJson } from '../exchanges/write-answer.js';

/** Returns the segments after `/admin/`, or undefined if the path is not part of the admin API. */
export function adminPath(path: string): readonly string[] | undefined {
  // The check of one letter saves the regular expression for most paths.
  return (path.charCodeAt(1) | 32) === 97 && /^\/admin(?:\/|$)/i.test(path)
    ? path.slice('/admin/'.length).replace(/\/$/, '').split('/').map(decodeSegment)
    : undefined;
}

/**
 * Serves the admin API. Host operations apply to the application that the request resolved to; function operations to all
 * applications. Everything but `host/ping` requires the master key.
 */
export async function serveAdmin(call: AdminCall): Promise<void> {
  const { exchange, application, key } = call;
  const { admin } = application;
  const [area = '', ...rest] = call.path.map((segment) => segment.toLowerCase());
  const action = `${exchange.method} ${[area, ...rest].join('/')}`;
  if (!admin) throw notFound(call);
  if (/^(?:GET|POST) host\/ping$/.test(action))
    return writeAnswer(exchange, { status: 200, headers: [], body: undefined });
  if (area === 'functions') return serveAdminFunctions(call, action, rest);
  if (!mayAdminister(application, exchange.request, key)) throw new Refused(functionKeyRequired({}));
  if (exchange.method !== 'GET') call.observe({ kind: 'http.admin', application: application.name, action });
  if (area === 'host') return serveHost(call, admin, `${exchange.method} ${rest.join('/')}`);
  throw notFound(call);
}

function serveHost(call: AdminCall, admin: AdminHost, action: string): void {
  const { exchange } = call;
  const { keys } = call.application;
  switch (action) {
    case 'GET status': {
      const { uptimeMs, errors, ...status } = admin.status();
      const processUptime = Math.round(uptimeMs);
      return writeJson(exchange, 200, {
        ...status,
        versionDetails: status.version,
        processUptime,
        ...(errors.length > 0 && { errors }),
      });
    }
    case 'GET keys':
    case 'GET functionkeys':
      return writeKeys(call, keys, { kind: 'host' });
    case 'GET systemkeys':
      return writeKeys(call, keys, { kind: 'system' });
    case 'GET keys/_master':
    case 'GET systemkeys/_master':
      return writeJson(exchange, 200, { name: '_master', value: keys.master.reveal() });
    case 'POST restart':
      admin.restart();
      return writeJson(exchange, 202, { state: 'Restarting' });
    case 'POST drain':
      admin.drain();
      return writeJson(exchange, 202, admin.drainStatus());
    case 'GET drain/status':
      return writeJson(exchange, 200, admin.drainStatus());
    default:
      throw notFound(call);
  }
}
