/** The scalar types of proto3 that the protocol uses. */
export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'sint64' | 'double';

/** A field as written in its file; the name of its type is not resolved. */
export interface ProtoField {
  readonly doc: string;
  readonly name: string;
  readonly number: number;
  readonly label: 'singular' | 'repeated' | 'map';
  readonly type: string;
  readonly oneof: string | undefined;
}

/** A message as written in its file. */
export interface ProtoMessage {
  readonly doc: string;
  /** With package, without a leading dot. */
  readonly name: string;
  readonly fields: readonly ProtoField[];
}

/** An enumeration as written in its file. */
export interface ProtoEnum {
  readonly doc: string;
  readonly name: string;
  readonly values: readonly (readonly [name: string, value: number])[];
}

/** A service and the names of its methods. */
export interface ProtoService {
  readonly name: string;
  readonly methods: readonly string[];
}

/** One .proto file. */
export interface ProtoFile {
  readonly package: string;
  readonly imports: readonly string[];
  readonly messages: readonly ProtoMessage[];
  readonly enums: readonly ProtoEnum[];
  readonly services: readonly ProtoService[];
}
