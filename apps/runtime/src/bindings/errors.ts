import { defineError } from '@drover/contracts';

export const bindingExpressionFailed = defineError<{
  functionName: string;
  binding: string;
  expression: string;
  reason: string;
}>('BINDING_EXPRESSION_FAILED', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) =>
    `Function ${d.functionName}, binding "${d.binding}": {${d.expression}} ${d.reason}. Correct the expression, or the message.`,
  help: 'An expression of an output binding has no value in the data of the trigger. Correct the expression, or the message.',
});

export const functionOutputInvalid = defineError<{ functionName: string; binding: string; reason: string }>(
  'FUNCTION_OUTPUT_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    message: (d) =>
      `Function ${d.functionName}, output "${d.binding}": ${d.reason}. No output was written. Correct the function.`,
    help: 'A function set an output to a value that cannot be sent. Correct the function.',
  },
);

export const functionOutputUnsupported = defineError<{ functionName: string; binding: string; type: string }>(
  'FUNCTION_OUTPUT_UNSUPPORTED',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    message: (d) =>
      `Function ${d.functionName} set its output "${d.binding}", but outputs of the type ${d.type} are not supported: nothing was written. Write it in the function itself, or leave the output unset.`,
    help: 'The function set an output whose binding type this runtime does not have. Write it in the function itself, with the SDK of the service.',
  },
);

export const functionInputFailed = defineError<{ functionName: string; binding: string; reason: string }>(
  'FUNCTION_INPUT_FAILED',
  {
    fault: 'platform',
    retryable: true,
    status: 500,
    message: (d) => `Function ${d.functionName}, input "${d.binding}" could not be read: ${d.reason}`,
    help: 'The service of an input binding did not answer or refused the request. The function did not run. Check the connection of the binding.',
  },
);

export const functionAnswerInvalid = defineError<{ functionName: string; reason: string }>('FUNCTION_ANSWER_INVALID', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) =>
    `Function ${d.functionName} returned an HTTP response that cannot be sent: ${d.reason}. Correct the function.`,
  help: 'A status, a header or a cookie of the response is not valid HTTP. The log of the function names it.',
});

export const recordOutputInvalid = defineError<{ functionName: string; collection: string; text: string }>(
  'RECORD_OUTPUT_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    message: (d) =>
      `Function ${d.functionName} returned "${d.text}" for its output to the collection "${d.collection}". Return an object with the fields of a record, or an array of them.`,
    help: 'A collection output takes objects with the fields of a record. Correct what the function returns for the output.',
  },
);

export const bindingErrors = {
  recordOutputInvalid,
  bindingExpressionFailed,
  functionOutputInvalid,
  functionOutputUnsupported,
  functionInputFailed,
  functionAnswerInvalid,
};
