/**
 * The part of a request that an error is about. An error of the records API that has one carries it as `details.source`, and the
 * response as `source` of the JSON:API error.
 */
export type RequestSource = { readonly parameter: string } | { readonly pointer: string } | { readonly header: string };
