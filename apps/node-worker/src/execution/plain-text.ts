import { toHandlerValue, type InvocationRequest, type ParameterBinding, type TypedData } from '@drover/function-rpc';

/** Longer texts are left alone: to write them as JSON and parse that costs more than a parser that gives up at once. */
const longest = 512;

/** Only these begin JSON texts, after white space. */
const mayBeJson = /^[ \t\n\r]*["[{\-0-9tfn]/;

/** Texts that look like the beginning of a number or a word of JSON, but are not the whole of one. */
const isWholeWord = /^[ \t\n\r]*(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)[ \t\n\r]*$/;

/**
 * The v4 library tries to parse every text as JSON, and each failed try costs several microseconds: ids, dates and offsets
 * in trigger metadata took a sixth of the worker's time. So texts that are surely no JSON are handed to it as JSON strings,
 * which come out as the same text. In place: nobody else holds the message.
 */
export function spareParsing(request: InvocationRequest): void {
  // The decoded message is ours; it is only readers that must not change it.
  const metadata = request.triggerMetadata as Record<string, TypedData>;
  for (const name of Object.keys(metadata)) {
    const text = metadata[name]?.string;
    if (text !== undefined && isSparable(text)) metadata[name] = { json: JSON.stringify(text) };
  }
  for (const input of request.inputData as (ParameterBinding & { data?: TypedData | undefined })[]) {
    const text = input.data?.string;
    if (text !== undefined && isSparable(text)) input.data = { json: JSON.stringify(text) };
  }
}

function isSparable(text: string): boolean {
  return text.length <= longest && isSurelyText(text);
}

/** What a v4 handler sees of a value, without the attempts that are bound to fail. */
export function toV4Value(data: TypedData | undefined): unknown {
  const text = data?.string;
  return text !== undefined && isSurelyText(text) ? text : toHandlerValue(data);
}

/** True for texts that no JSON parser takes; false when only a parser can tell. */
export function isSurelyText(text: string): boolean {
  if (!mayBeJson.test(text)) return true;
  const first = text.trimStart().charCodeAt(0);
  const isContainerOrString = first === 0x7b || first === 0x5b || first === 0x22; // { [ "
  return !isContainerOrString && !isWholeWord.test(text);
}
