/**
 * The version of the service API that requests name. Every Azurite that is older than the SDK refuses the version of the SDK;
 * all operations used here are the same since this one.
 */
export const apiVersion = '2022-11-02';

interface StorageRequest {
  readonly headers: { set(name: string, value: string): void };
}

/** A policy of the queue and blob SDKs. Runs before the policy that signs a request. */
export const withApiVersion = {
  create: <Request extends StorageRequest, Response>(next: { sendRequest(request: Request): Response }) => ({
    sendRequest(request: Request): Response {
      request.headers.set('x-ms-version', apiVersion);
      return next.sendRequest(request);
    },
  }),
};
