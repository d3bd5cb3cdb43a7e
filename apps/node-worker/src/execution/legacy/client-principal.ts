/** The caller as authenticated by App Service or Static Web Apps. */
export interface HttpUser {
  readonly type: 'AppService' | 'StaticWebApps';
  readonly id: unknown;
  readonly username: unknown;
  readonly identityProvider: unknown;
  readonly claimsPrincipalData: Readonly<Record<string, unknown>>;
}

/** Reads the client principal header. Returns null when it is missing or malformed. */
export function clientPrincipalOf(headers: Readonly<Record<string, string>>): HttpUser | null {
  const header = headers['x-ms-client-principal'];
  const data = header === undefined ? undefined : parse(Buffer.from(header, 'base64').toString('utf8'));
  if (!data) return null;
  if (data['identityProvider']) {
    return {
      type: 'StaticWebApps',
      id: data['userId'],
      username: data['userDetails'],
      identityProvider: data['identityProvider'],
      claimsPrincipalData: data,
    };
  }
  return {
    type: 'AppService',
    id: headers['x-ms-client-principal-id'],
    username: headers['x-ms-client-principal-name'],
    identityProvider: headers['x-ms-client-principal-idp'],
    claimsPrincipalData: data,
  };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? { ...data } : undefined;
  } catch {
    return undefined;
  }
}
