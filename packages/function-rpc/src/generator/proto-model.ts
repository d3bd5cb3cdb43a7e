/** A scalar type of the subset of proto3 that the protocol uses. */
export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'sint64' | 'double';

/** A field as it is written down: names of types are not resolved yet. */
export interface ProtoField {
  readonly doc: string;
  readonly name: string;
  readonly number: number;
  readonly label: 'singular' | 'repeated' | 'map';
  readonly type: string;
  readonly oneof: string | undefined;
}

/** A message as it is written down. */
export interface ProtoMessage {
  readonly doc: string;
  /** With package, without a leading dot. */
  readonly name: string;
  readonly fields: readonly ProtoField[];
}

/** An enumeration as it is written down. */
export interface ProtoEnum {
  readonly doc: string;
  readonly name: string;
  readonly values: readonly (readonly [name: string, value: number])[];
}

/** One call of a service. */
export interface ProtoMethod {
  readonly name: string;
  readonly request: string;
  readonly requestStream: boolean;
  readonly response: string;
  readonly responseStream: boolean;
}

/** A service and its calls. */
export interface ProtoService {
  readonly doc: string;
  readonly name: string;
  readonly methods: readonly ProtoMethod[];
}

/** One .proto file. */
export interface ProtoFile {
  readonly package: string;
  readonly imports: readonly string[];
  readonly messages: readonly ProtoMessage[];
  readonly enums: readonly ProtoEnum[];
  readonly services: readonly ProtoService[];
}
