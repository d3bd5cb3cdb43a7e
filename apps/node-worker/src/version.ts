/** What hosts and apps are told; the same as in package.json, which a bundle does not have beside it. */
export const workerVersion = '0.1.0';
