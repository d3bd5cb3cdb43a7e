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
  message: (d) => `function ${d.functionName}, binding "${d.binding}": {${d.expression}} ${d.reason}`,
  help: 'An output binding names something that the trigger did not bring: correct the expression, or what is sent.',
});

export const functionOutputInvalid = defineError<{ functionName: string; binding: string; reason: string }>(
  'FUNCTION_OUTPUT_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    message: (d) => `function ${d.functionName}, output "${d.binding}": ${d.reason}`,
    help: 'A function set an output to something that cannot be sent there: correct the function.',
  },
);

export const functionAnswerInvalid = defineError<{ functionName: string; reason: string }>('FUNCTION_ANSWER_INVALID', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) => `function ${d.functionName} returned an HTTP response that cannot be sent: ${d.reason}`,
  help: 'A status, a header or a cookie of the response is not valid HTTP: the log of the function names it.',
});

export const bindingErrors = { bindingExpressionFailed, functionOutputInvalid, functionAnswerInvalid };
