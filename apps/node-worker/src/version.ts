/** The version in package.json, repeated because the bundle has no package.json of the worker beside it. */
export const workerVersion = '0.1.0';
