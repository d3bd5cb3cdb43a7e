import type { IncomingHttpHeaders } from 'node:http';
import type { RpcClaimInit, RpcClaimsIdentityInit } from '@drover/function-rpc';
import { isJsonObject } from '../applications/json-text.js';

/** Headers in which an authenticating proxy passes the identity of the caller. */
const principalHeaders = [
  'x-ms-client-principal',
  'x-ms-client-principal-id',
  'x-ms-client-principal-name',
  'x-ms-client-principal-idp',
] as const;

const maxClaims = 1_000;

/** Reads the identity from the principal header. Returns an empty list if it is missing or invalid. */
export function readClientPrincipal(headers: IncomingHttpHeaders): readonly RpcClaimsIdentityInit[] {
  const header = headers['x-ms-client-principal'];
  if (typeof header !== 'string' || header === '') return [];
  let principal: unknown;
  try {
    principal = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  } catch {
    return [];
  }
  if (!isJsonObject(principal)) return [];
  const { auth_typ: authenticationType, name_typ: nameClaimType, role_typ: roleClaimType, claims } = principal;
  return [
    {
      ...nullable('authenticationType', authenticationType),
      ...nullable('nameClaimType', nameClaimType),
      ...nullable('roleClaimType', roleClaimType),
      claims: Array.isArray(claims) ? claims.slice(0, maxClaims).flatMap(toClaim) : [],
    },
  ];
}

/** Removes the principal headers. Required for listeners that clients reach without an authenticating proxy. */
export function stripClientPrincipal(headers: IncomingHttpHeaders): void {
  for (const name of principalHeaders) if (name in headers) delete headers[name];
}

function nullable(name: string, value: unknown): RpcClaimsIdentityInit {
  return typeof value === 'string' ? { [name]: { value } } : {};
}

function toClaim(claim: unknown): RpcClaimInit[] {
  if (!isJsonObject(claim)) return [];
  const { typ: type, val: value } = claim;
  return typeof type === 'string' && typeof value === 'string' ? [{ type, value }] : [];
}
