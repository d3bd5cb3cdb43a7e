// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { CollectionString, CollectionStringInit } from './collection-string.js';
import type { CollectionBytes, CollectionBytesInit } from './collection-bytes.js';
import type { CollectionDouble, CollectionDoubleInit } from './collection-double.js';
import type { CollectionSInt64, CollectionSInt64Init } from './collection-sint64.js';
import type { RpcHttpCookie, RpcHttpCookieInit } from './rpc-http-cookie.js';
import type { ModelBindingData, ModelBindingDataInit } from './model-binding-data.js';
import type { CollectionModelBindingData, CollectionModelBindingDataInit } from './collection-model-binding-data.js';
import type { RpcClaimsIdentity, RpcClaimsIdentityInit } from './rpc-claims-identity.js';
import type { NullableString, NullableStringInit } from './nullable-string.js';

/** The value of an input, an output or a trigger property. Without a member it is null. */
export interface TypedData {
  readonly string?: string | undefined;
  readonly json?: string | undefined;
  readonly bytes?: Uint8Array | undefined;
  readonly stream?: Uint8Array | undefined;
  readonly http?: RpcHttp | undefined;
  readonly int?: number | bigint | undefined;
  readonly double?: number | undefined;
  readonly collectionBytes?: CollectionBytes | undefined;
  readonly collectionString?: CollectionString | undefined;
  readonly collectionDouble?: CollectionDouble | undefined;
  readonly collectionSint64?: CollectionSInt64 | undefined;
  readonly modelBindingData?: ModelBindingData | undefined;
  readonly collectionModelBindingData?: CollectionModelBindingData | undefined;
}

/** TypedData for writing. Omitted fields have their defaults. */
export interface TypedDataInit {
  readonly string?: string | null | undefined;
  readonly json?: string | null | undefined;
  readonly bytes?: Uint8Array | null | undefined;
  readonly stream?: Uint8Array | null | undefined;
  readonly http?: RpcHttpInit | null | undefined;
  readonly int?: number | bigint | null | undefined;
  readonly double?: number | null | undefined;
  readonly collectionBytes?: CollectionBytesInit | null | undefined;
  readonly collectionString?: CollectionStringInit | null | undefined;
  readonly collectionDouble?: CollectionDoubleInit | null | undefined;
  readonly collectionSint64?: CollectionSInt64Init | null | undefined;
  readonly modelBindingData?: ModelBindingDataInit | null | undefined;
  readonly collectionModelBindingData?: CollectionModelBindingDataInit | null | undefined;
}

/** An HTTP request to a worker, or its response. */
export interface RpcHttp {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: TypedData | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly statusCode: string;
  readonly query: Readonly<Record<string, string>>;
  readonly enableContentNegotiation: boolean;
  readonly rawBody?: TypedData | undefined;
  readonly identities: readonly RpcClaimsIdentity[];
  readonly cookies: readonly RpcHttpCookie[];
  readonly nullableHeaders: Readonly<Record<string, NullableString>>;
  readonly nullableParams: Readonly<Record<string, NullableString>>;
  readonly nullableQuery: Readonly<Record<string, NullableString>>;
}

/** RpcHttp for writing. Omitted fields have their defaults. */
export interface RpcHttpInit {
  readonly method?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  readonly body?: TypedDataInit | null | undefined;
  readonly params?: Readonly<Record<string, string>> | null | undefined;
  readonly statusCode?: string | null | undefined;
  readonly query?: Readonly<Record<string, string>> | null | undefined;
  readonly enableContentNegotiation?: boolean | null | undefined;
  readonly rawBody?: TypedDataInit | null | undefined;
  readonly identities?: readonly RpcClaimsIdentityInit[] | null | undefined;
  readonly cookies?: readonly RpcHttpCookieInit[] | null | undefined;
  readonly nullableHeaders?: Readonly<Record<string, NullableStringInit>> | null | undefined;
  readonly nullableParams?: Readonly<Record<string, NullableStringInit>> | null | undefined;
  readonly nullableQuery?: Readonly<Record<string, NullableStringInit>> | null | undefined;
}
